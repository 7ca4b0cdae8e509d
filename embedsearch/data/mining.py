"""Which sentences of a document make a pair: those that share a phrase. GUR's training data."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from embedsearch.data.documents import Document
from embedsearch.data.overlap import Overlaps, every_pair, last_partners, overlaps
from embedsearch.data.sentences import Cleaner
from embedsearch.data.units import GRAIN, Integers, Units, Weights, take_apart
from embedsearch.errors import UserError

Kind = Literal["short", "long", "titles"]

_NO_LIMIT = 1 << 62


@dataclass(frozen=True)
class Mining:
    """How pairs are chosen. Lengths and overlaps are weights: a Han character's is 1.

    The paper asks for 2 Han characters in common in sentences under 64, and 3 in longer ones; the
    public code for 3, or 2 where one of the sentences weighs at most 15. Here: as the paper; a pair
    is short when both of its sentences are. Overlaps of 0 take every pair (the ablation −LCS).
    """

    weights: Weights = field(default_factory=Weights)
    short_length: float = 64
    """What a sentence of a long pair weighs at least."""
    short_overlap: float = 2
    long_overlap: float = 3
    uses: int = 2
    """Pairs that a sentence may be in, as in the public training command."""
    title_uses: int = 3
    """The same of a title: one more, as in the public code."""
    reach: int = 100
    """How far apart two sentences of a pair may be, about as in the public code; a title reaches
    its whole document. It keeps the work linear in a document's length."""
    short_tokens: int = 32
    long_tokens: int = 128

    def __post_init__(self) -> None:
        for name in ("uses", "title_uses", "reach", "short_tokens", "long_tokens"):
            if getattr(self, name) < 1:
                raise UserError(f"mining: {name} is {getattr(self, name)}; give 1 or more")
        if not 0 < self.short_overlap <= self.long_overlap and self.overlaps_matter:
            raise UserError(
                f"mining: short_overlap {self.short_overlap:g} and long_overlap "
                f"{self.long_overlap:g}; give 0 < short <= long, or 0 for both to take every pair"
            )

    @property
    def overlaps_matter(self) -> bool:
        """False for the ablation −LCS."""
        return (self.short_overlap, self.long_overlap) != (0, 0)

    def tokens(self, kind: Kind) -> int:
        """The length bucket of a kind of pair."""
        return self.short_tokens if kind == "short" else self.long_tokens


class Pair(NamedTuple):
    """Two texts, cropped to about their bucket, on single lines."""

    kind: Kind
    key: str
    """32 hex digits of the seed and both normalised texts, whichever is first: equal for equal
    pairs, and in no order but the seed's."""
    first: str
    second: str
    first_sentence: int
    """Names the whole sentence, equal for all crops of it."""
    second_sentence: int


def mine_chunk(
    documents: Sequence[Document], mining: Mining, seed: int
) -> tuple[list[Pair], Counter[str]]:
    """The pairs of these documents in order, and what was counted on the way.

    Beside the pairs of sentences there is one of each document and its title (kind ``titles``),
    for the document-to-title task: the document's beginning, not a random crop, for it is what a
    title names. Longer sentences are cropped at a place that the seed and the pair decide.
    """
    tally: Counter[str] = Counter()
    usable = list(_usable(documents, tally))
    sentences: list[str] = []
    starts = [0]
    for document in usable:
        sentences += document.sentences
        starts.append(len(sentences))
    units = take_apart(sentences, mining.weights)
    tally["sentences"] = len(sentences)

    def side(sentence: int) -> _Side:
        return _Side(sentences[sentence], units.text(sentence), int(units.lengths[sentence]))

    pairs = [
        _pair("long" if long else "short", side(first), side(second), mining, seed)
        for first, second, long in _choose(units, np.array(starts), mining, tally)
    ]
    for document, start, stop in zip(usable, starts[:-1], starts[1:], strict=True):
        whole = _Side(
            document.text, units.text(start + 1, stop), int(units.lengths[start + 1 : stop].sum())
        )
        pairs.append(_pair("titles", whole, side(start), mining, seed))
    return pairs, tally


def _usable(documents: Sequence[Document], tally: Counter[str]) -> Iterator[Document]:
    clean = Cleaner(_NO_LIMIT)
    for document in documents:
        title, text = clean(document.title), clean(document.text)
        tally["documents"] += 1
        tally["untitled"] += title is None
        tally["empty"] += title is not None and text is None
        if title is not None and text is not None:
            yield Document(title, text)
    tally["nul"] = clean.counts.nul


def _choose(
    units: Units, starts: Integers, mining: Mining, tally: Counter[str]
) -> Iterator[tuple[int, int, bool]]:
    """Both sentences of each pair, and whether it is a long one, in the order of the text.

    ``starts`` are the titles' numbers, and one more: (documents + 1,).
    """
    last = last_partners(starts, mining.reach)
    least = round(GRAIN * mining.short_overlap)
    found = overlaps(units, last, least) if mining.overlaps_matter else every_pair(last)
    first, second, long = _heavy_enough(found, units.lengths, mining)
    tally["alike"] = len(first)
    limits = np.full(len(last), mining.uses)
    limits[starts[:-1]] = mining.title_uses
    limits[units.lengths == 0] = 0  # a sentence of marks alone is in no pair
    room = limits.tolist()
    for one, other, is_long in zip(first.tolist(), second.tolist(), long.tolist(), strict=True):
        if not (room[one] and room[other]):
            tally["used_up"] += 1
        elif units.text(one) == units.text(other):
            tally["identical"] += 1
        else:
            room[one] -= 1
            room[other] -= 1
            yield one, other, is_long


def _heavy_enough(
    found: Overlaps, lengths: Integers, mining: Mining
) -> tuple[Integers, Integers, NDArray[np.bool_]]:
    longer = np.maximum(lengths[found.first], lengths[found.second])
    long = longer >= round(GRAIN * mining.short_length)
    least = np.where(long, mining.long_overlap, mining.short_overlap)
    enough = found.weight >= np.rint(GRAIN * least)
    return found.first[enough], found.second[enough], long[enough]


class _Side(NamedTuple):
    text: str
    normal: str
    length: int
    """In thousandths."""

    @property
    def number(self) -> int:
        """Of 64 bits; equal for equal normalised texts."""
        digest = hashlib.blake2b(self.normal.encode(), digest_size=8).digest()
        return int.from_bytes(digest, signed=True)

    def cropped(self, tokens: int, place: float) -> str:
        """About as much text as weighs ``tokens``, from ``place`` (0 to 1) of where it can begin.

        A token is taken for a weight of 1: a Han character, or three letters. Cut between words
        where a space is near.
        """
        text = self.text
        if self.length <= GRAIN * tokens:
            return " ".join(text.split())
        size = max(1, len(text) * GRAIN * tokens // self.length)
        start = int(place * (len(text) - size + 1))
        stop, near = start + size, size // 4
        if start and not text[start - 1].isspace():
            start = max(start, text.find(" ", start, start + near) + 1)
        if stop < len(text) and not text[stop].isspace():
            space = text.rfind(" ", stop - near, stop)
            stop = space if space > start else stop
        return " ".join(text[start:stop].split())


def _pair(kind: Kind, first: _Side, second: _Side, mining: Mining, seed: int) -> Pair:
    normal = "\0".join(sorted((first.normal, second.normal)))
    key = hashlib.blake2b(normal.encode(), digest_size=16, key=str(seed).encode()).hexdigest()
    places = (0.0, 0.0) if kind == "titles" else (_fraction(key[16:24]), _fraction(key[24:]))
    tokens = mining.tokens(kind)
    one, other = (
        side.cropped(tokens, place) for side, place in zip((first, second), places, strict=True)
    )
    return Pair(kind, key, one, other, first.number, second.number)


def _fraction(digits: str) -> float:
    return int(digits, 16) / (1 << 4 * len(digits))
