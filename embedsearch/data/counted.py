"""How many there are of what, in words."""

from __future__ import annotations

import re


def counted(count: int, noun: str) -> str:
    """``1 text``, ``2,000 texts``, ``3 queries``, ``2 classes``."""
    ending = {"y": "ies", "s": "ses"}.get(noun[-1])
    many = re.sub(r".$", ending, noun) if ending else f"{noun}s"
    return f"{count:,} {noun if count == 1 else many}"
