"""Names and values as MLflow takes them: nothing is refused, and every name can be read back."""

from __future__ import annotations

import json
import re
from functools import lru_cache

from embedsearch.records import Scalar

MAX_PARAM = 6000
"""Characters; MLflow cuts or refuses what is longer."""

_REFUSED = re.compile(r"[^\w.\-/ ]|_(?=0x)")
_ESCAPED = re.compile(r"_0x([0-9a-f]*)_")


def to_name(name: str) -> str:
    """``name`` with what MLflow refuses written as ``_0x40_`` (``map@10``, ``a=b``, ``a//b``)."""
    return "/".join(_segment(part) for part in name.split("/"))


@lru_cache(maxsize=10_000)
def from_name(stored: str) -> str:
    """The name that ``to_name`` was given."""
    return _ESCAPED.sub(lambda match: chr(int(match[1], 16)) if match[1] else "", stored)


def to_text(value: Scalar) -> str:
    """One text per value: 3e-05 and 0.00003 are the same float, so they are the same param.

    Cut, and marked as cut, where MLflow would; the spec among the run's artifacts has it whole.
    """
    text = value if isinstance(value, str) else json.dumps(value, allow_nan=False)
    return text if len(text) <= MAX_PARAM else f"{text[: MAX_PARAM - 1]}…"


@lru_cache(maxsize=10_000)
def from_text(text: str) -> Scalar:
    """The value that ``to_text`` was given, where its text tells."""
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return value if value is None or isinstance(value, (str, int, float)) else text


def _segment(part: str) -> str:
    """A part between slashes; an empty one or dots alone would be read as a path."""
    if part == "":
        return "_0x_"
    if part in (".", ".."):
        return _escape(".") * len(part)
    return _REFUSED.sub(lambda match: _escape(match[0]), part)


def _escape(character: str) -> str:
    return f"_0x{ord(character):x}_"
