"""What a usable sentence is, and the count of what was not one."""

from __future__ import annotations

from dataclasses import dataclass

MAX_CHARACTERS = 32_768
"""Where a text is cut: about the 8,192 tokens of the longest inputs that backbones take."""

_ZERO_WIDTH = "\u200b\u200c\u200d\u2060\ufeff"
_EDGES = "".join(chr(code) for code in range(0x3001) if chr(code).isspace()) + _ZERO_WIDTH


@dataclass(frozen=True)
class Counts:
    """How many texts (or pairs of them) were kept, and what was done to the others."""

    kept: int
    blank: int = 0
    """Skipped: nothing in it that can be seen."""
    truncated: int = 0
    """Cut at ``MAX_CHARACTERS``."""
    nul: int = 0
    """Had NUL characters, which were removed."""
    unscored: int = 0
    """Pairs skipped because their gold score is blank."""

    def __str__(self) -> str:
        told = {
            "blank skipped": self.blank,
            f"cut at {MAX_CHARACTERS:,} characters": self.truncated,
            "with NUL removed": self.nul,
            "without a gold score skipped": self.unscored,
        }
        notes = [f"{count:,} {what}" for what, count in told.items() if count]
        return f"{self.kept:,} kept" + (f" ({', '.join(notes)})" if notes else "")


class Cleaner:
    """Makes usable sentences of texts, and counts what it had to do; ``limit`` is in characters."""

    def __init__(self, limit: int = MAX_CHARACTERS) -> None:
        self._limit = limit
        self._kept = self._blank = self._truncated = self._nul = 0

    def __call__(self, text: str | None) -> str | None:
        """``text`` without NUL, space at its ends and what exceeds the limit; None if blank."""
        text = text or ""
        if "\0" in text:
            text = text.replace("\0", "")
            self._nul += 1
        if not text.isascii():  # half a surrogate pair, as JSON can hold, has no UTF-8
            text = text.encode("utf-8", "replace").decode("utf-8")
        text = text.strip(_EDGES)
        if len(text) > self._limit:
            text = text[: self._limit].rstrip(_EDGES)
            self._truncated += 1
        if not text:
            self._blank += 1
            return None
        self._kept += 1
        return text

    @property
    def counts(self) -> Counts:
        """Of all texts so far."""
        return Counts(self._kept, self._blank, self._truncated, self._nul)
