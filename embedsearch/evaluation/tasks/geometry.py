"""Alignment and uniformity of the space (Wang & Isola 2020), as the papers' planes show them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from embedsearch.data.counted import counted
from embedsearch.data.pairs import ScoredPairs, Split, joined, read_dev_pairs
from embedsearch.evaluation.directions import NOT_FINITE, directions
from embedsearch.evaluation.task import DataSet, Kind, Outcome, Score, Subject

POSITIVE = 4.0
"""Gold score, out of 5, from which on the two sentences of a pair should lie together."""

_PROTOCOL = (
    "{}; vectors of length 1; alignment: mean of |x-y|^2 over the pairs of gold >= 4; "
    "uniformity: log of the mean of exp(-2 |x-y|^2) over all pairs of distinct sentences; "
    "of both, less is better"
)
_BLOCK = 1024


@dataclass(frozen=True)
class Alignment:
    """The positives of scored pairs, and all their sentences.

    The papers say STS-B alone. SimCSE's authors, whom they follow, took all of it, and the splits
    stand beside that here. SCD's public code does not scale the vectors and takes the uniformity
    of the differences of pairs, so what it prints (0.84, -3.83) may not be of this protocol.
    """

    name: str
    parts: tuple[ScoredPairs, ...]
    protocol: str

    @property
    def fingerprint(self) -> str:
        return joined(self.name, self.parts).fingerprint

    def texts(self) -> Iterable[str]:
        for part in self.parts:
            yield from part.first
            yield from part.second

    def score(self, subject: Subject) -> Outcome:
        """``alignment`` and ``uniformity``, and those of each part where there are several."""
        sentences = list(dict.fromkeys(self.texts()))
        found, zeros = directions(subject.embed(sentences))
        rows = {sentence: row for row, sentence in enumerate(sentences)}
        everything = joined(self.name, self.parts)
        scores = _measured("", everything, found, rows)
        if len(self.parts) > 1:
            scores += [s for p in self.parts for s in _measured(f"/{p.name}", p, found, rows)]
        positives = int((everything.gold >= POSITIVE).sum())
        pairs, texts = counted(len(everything), "pair"), counted(len(sentences), "sentence")
        notes = [f"{counted(positives, 'positive')} of {pairs}, {texts}"]
        notes += [counted(zeros, "zero vector")] if zeros else []
        return Outcome(tuple(scores), tuple(notes))


def alignment(first: NDArray[np.float32], second: NDArray[np.float32]) -> float:
    """Mean squared distance of the rows of ``first`` and ``second``, (pairs, dim): exponent 2."""
    return float(np.mean(np.sum((first - second) ** 2, axis=1, dtype=np.float64)))


def uniformity(vectors: NDArray[np.float32]) -> float:
    """Log of the mean of exp(-2 |x-y|^2) over all pairs of the rows of ``vectors`` (texts, dim)."""
    squares, total = np.sum(vectors**2, axis=1), 0.0
    for start in range(0, len(vectors), _BLOCK):
        block, rest = slice(start, start + _BLOCK), slice(start, None)
        apart = squares[block, None] + squares[rest] - 2 * (vectors[block] @ vectors[rest].T)
        near = np.exp(-2 * np.maximum(apart, 0, out=apart))
        total += float(np.triu(near, 1).sum(dtype=np.float64))
    return float(np.log(total / (len(vectors) * (len(vectors) - 1) / 2)))


def _measured(
    suffix: str, pairs: ScoredPairs, vectors: NDArray[np.float32], rows: dict[str, int]
) -> list[Score]:
    positive = pairs.gold >= POSITIVE
    first, second = (
        vectors[[rows[sentence] for sentence in side]][positive]
        for side in (pairs.first, pairs.second)
    )
    distinct = vectors[[rows[sentence] for sentence in dict.fromkeys(pairs.first + pairs.second)]]
    bad = "" if np.isfinite(distinct).all() else NOT_FINITE
    none = bad or ("" if len(first) else f"no pair has a gold score of {POSITIVE:g} or more")
    one = bad or ("" if len(distinct) > 1 else "there is one sentence")
    return [
        Score(f"alignment{suffix}", None if none else alignment(first, second), reason=none),
        Score(f"uniformity{suffix}", None if one else uniformity(distinct), reason=one),
    ]


def _open(data: DataSet, path: Path) -> Alignment:
    splits = [read_dev_pairs(path / f"sts-{split}.csv", split=split) for split in get_args(Split)]
    return Alignment(data.name, tuple(splits), _PROTOCOL.format("STS-B train, dev and test"))


def _own(name: str, files: Sequence[Path]) -> Alignment:
    parts = tuple(read_dev_pairs(file) for file in files)
    return Alignment(name, parts, _PROTOCOL.format("all pairs"))


GEOMETRY = Kind(
    "geometry",
    (DataSet("alignment", "STS/STSBenchmark", "STS benchmark, ixa2.si.ehu.eus/stswiki"),),
    _open,
    _own,
    layout="as for sts, scores up to 5",
    metrics=("alignment", "uniformity"),
)
