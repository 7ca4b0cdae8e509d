"""The units that two sentences can have in common, and what each of them weighs."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]

GRAIN = 1_000
"""Weights are kept as whole thousandths: sums are exact, whatever their order."""

_HAN = "々〇㐀-䶿一-鿿豈-﫿\U00020000-\U000323af"
_OTHER_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3041-\u3096\u30a1-\u30fa\u30fc"
"""Thai, Lao, Burmese, Khmer, kana."""
_MARKS = "".join(
    chr(code) for code in range(0x300, 0x3000) if unicodedata.category(chr(code)) in ("Mn", "Mc")
)
UNSPACED = _HAN + _OTHER_UNSPACED
"""Characters of scripts without spaces, as a regular expression's class has them."""
_LETTERS = rf"[^\W_{UNSPACED}]"
_UNIT = re.compile(rf"{_LETTERS}+(?:[{_MARKS}]+{_LETTERS}*)*|\n|[{UNSPACED}]")
_IS_HAN = re.compile(f"[{_HAN}]")

_GLUE = (
    "a an the this that these those such same other another each every either neither both all "
    "any some no none many much more most few several own "
    "i me my mine we us our ours you your yours he him his she her hers it its they them their "
    "theirs who whom whose which what where when why how there here "
    "and or but nor so yet if then than as because while although though whether until unless "
    "since of in on at by for from to with without within into onto upon over under above "
    "below between among through during before after against about around across along near "
    "off out up down toward towards via per like "
    "am is are was were be been being have has had having do does did done can could will "
    "would shall should may might must not only also just very too even still again often "
    "however therefore thus later first second one two three "
    "s t d ll re ve m don doesn didn isn wasn aren weren "
    "的 了 是 在 和 与 與 及 之 也 而 且 或 着 吗 嗎 呢 吧 们 們 这 這 那 我 你 他 她 它"
)
GLUE = frozenset(_GLUE.split())
"""Words of closed classes in English, and Chinese particles, copulas and pronouns."""


@dataclass(frozen=True)
class Weights:
    """What a character weighs by its script, and which units weigh nothing.

    The public code's numbers: a Han character is about a syllable of meaning, and three letters
    are about as much. Without ``glue``, "which was the" would outweigh two Han characters.
    """

    han: float = 1.0
    letter: float = 0.3
    other: float = 0.1
    glue: frozenset[str] = GLUE

    def length(self, unit: str) -> int:
        """Thousandths that a normalised unit weighs in a sentence's length, glue or not."""
        if _IS_HAN.match(unit):
            return round(GRAIN * self.han)
        letters = sum(map(str.isalpha, unit))
        return letters * round(GRAIN * self.letter) + (len(unit) - letters) * round(
            GRAIN * self.other
        )


@dataclass(frozen=True, eq=False)
class Units:
    """Sentences taken apart, one after another."""

    texts: list[str]
    """Normalised: Han characters and those of other unspaced scripts each, words whole."""
    ids: Integers
    """(units,): equal for equal texts, in these sentences alone."""
    weights: Integers
    """(units,) in thousandths; 0 for glue."""
    sentences: Integers
    """(units,): which sentence each is of."""
    bounds: Integers
    """(sentences + 1,): where each sentence starts among the units."""
    lengths: Integers
    """(sentences,): what each weighs in thousandths, glue included."""

    def text(self, sentence: int, stop: int | None = None) -> str:
        """The normalised sentence, or those up to ``stop``: units between single spaces."""
        stop = sentence + 1 if stop is None else stop
        return " ".join(self.texts[self.bounds[sentence] : self.bounds[stop]])


def take_apart(sentences: Sequence[str], weights: Weights) -> Units:
    """The units of ``sentences``, none of which holds a line end.

    Normalised is: NFKC and case folded; what is no letter, mark or digit ends a unit and is
    dropped, so punctuation and runs of spaces make no difference.
    """
    normal = unicodedata.normalize("NFKC", "\n".join([*sentences, ""])).casefold()
    texts = _UNIT.findall(normal)
    numbers = _Numbers(weights)
    ids = np.fromiter(map(numbers.__getitem__, texts), dtype=np.int64, count=len(texts))
    ends = np.flatnonzero(ids == 0)
    inner = ids != 0
    lengths = np.array(numbers.lengths, dtype=np.int64)[ids]
    place = np.arange(len(sentences))
    return Units(
        [text for text in texts if text != "\n"],
        ids[inner],
        np.array(numbers.weights, dtype=np.int64)[ids][inner],
        np.repeat(place, np.diff(ends, prepend=-1) - 1),
        np.append(0, ends - place),
        np.diff(np.append(0, np.cumsum(lengths)[ends])),
    )


class _Numbers(dict[str, int]):
    """Numbers units as they come, and knows what each weighs; 0 is the end of a sentence."""

    def __init__(self, weights: Weights) -> None:
        super().__init__({"\n": 0})
        self._of = weights
        self.lengths = [0]
        self.weights = [0]

    def __missing__(self, unit: str) -> int:
        self[unit] = number = len(self.lengths)
        self.lengths.append(self._of.length(unit))
        self.weights.append(0 if unit in self._of.glue else self.lengths[-1])
        return number
