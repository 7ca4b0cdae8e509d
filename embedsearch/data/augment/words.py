"""The words of a sentence: where they stand, how many a rate changes, which ones."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

_HAN = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_PIECE = re.compile(rf"[{_HAN}]|[^\s{_HAN}]+")


@dataclass
class Words:
    """A sentence taken apart: words, and what stands before, between and after them.

    A word is what stands between spaces, without the punctuation at its ends (``don't``,
    ``well-known`` and ``5.00`` are one each); a Han character, which has no spaces round it, is a
    word by itself. Other scripts without spaces (Thai, kana) give one word a run. Symbols, emoji
    and punctuation are no words.
    """

    words: list[str]
    gaps: list[str]
    """One more than there are words."""

    @classmethod
    def of(cls, sentence: str) -> Words:
        """``str(Words.of(sentence))`` is the sentence."""
        words, gaps, end = [], [], 0
        for piece in _PIECE.finditer(sentence):
            start, stop = _core(sentence, *piece.span())
            if start < stop:
                gaps.append(sentence[end:start])
                words.append(sentence[start:stop])
                end = stop
        return cls(words, [*gaps, sentence[end:]])

    def __len__(self) -> int:
        return len(self.words)

    def __str__(self) -> str:
        pairs = zip(self.gaps, [*self.words, ""], strict=True)
        return "".join(part for pair in pairs for part in pair)

    def starts(self) -> list[int]:
        """The place of each word's first character in ``str(self)``."""
        places, end = [], 0
        for gap, word in zip(self.gaps, self.words, strict=False):
            places.append(end + len(gap))
            end = places[-1] + len(word)
        return places


def changed(rate: float, words: int) -> int:
    """How many of a sentence's words a rate changes: the nearest number to its share, at least 1.

    So a sentence of 10 words has one changed at 5 % as at 10 %: a pair that differs in nothing
    would be no augmentation.
    """
    return max(1, int(rate * words + 0.5))


def draw(places: Sequence[int], count: int, random: Random) -> list[int]:
    """``count`` of ``places`` (all, where there are fewer), drawn alike, in their order."""
    return sorted(random.sample(places, min(count, len(places))))


def dressed(word: str, like: str) -> str:
    """``word`` with a capital where the word it replaces has one."""
    return word[:1].upper() + word[1:] if like[:1].isupper() and word.islower() else word


def _core(text: str, start: int, stop: int) -> tuple[int, int]:
    """From the first letter or digit of a piece to the last, its combining marks included."""
    while start < stop and unicodedata.category(text[start])[0] not in "LN":
        start += 1
    while start < stop and unicodedata.category(text[stop - 1])[0] not in "LNM":
        stop -= 1
    return start, stop
