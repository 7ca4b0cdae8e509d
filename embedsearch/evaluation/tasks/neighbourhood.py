"""Are a text's nearest neighbours of its class, and how far are they? (VaSCL, Figure 2a.)"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from embedsearch.data.counted import counted
from embedsearch.data.labelled import LabelledTexts, collect, read_table
from embedsearch.evaluation.directions import NOT_FINITE, RESOLUTION, directions
from embedsearch.evaluation.task import DataSet, Kind, Outcome, Score, Subject

NEIGHBOURS = (1, 2, 5, 10, 20, 50, 100, 200, 500)
"""The K of the curve, from a text's nearest neighbour to half of a StackOverflow class."""

_PROTOCOL = (
    "the K nearest of all other texts by cosine, for K from 1 to 500; purity@K: % of them in the "
    "text's class; distance@K: their mean 1 - cosine; both the mean over all texts"
)
_NAMES = tuple(f"{what}@{k}" for what in ("purity", "distance") for k in NEIGHBOURS)
_BLOCK = 512


@dataclass(frozen=True)
class Neighbourhood:
    """Labelled texts, each looked at among all others.

    The paper prints neither its K nor its distance; 1 - cosine goes with the similarity it trains.
    """

    texts_of: LabelledTexts
    name: str
    protocol: str = _PROTOCOL

    @property
    def fingerprint(self) -> str:
        return self.texts_of.fingerprint

    def texts(self) -> Iterable[str]:
        return self.texts_of.texts

    def score(self, subject: Subject) -> Outcome:
        """``purity@K`` (times 100) and ``distance@K`` for each K of ``NEIGHBOURS``."""
        found, zeros = directions(subject.embed(self.texts_of.texts))
        sizes = Counter(self.texts_of.labels).values()
        repeated = len(found) - len(set(self.texts_of.texts))
        texts, classes = counted(len(found), "text"), counted(len(sizes), "class")
        notes = [f"{texts} in {classes} of {min(sizes)} to {max(sizes)}"]
        notes += [f"{repeated} repeat another text"] if repeated else []
        notes += [counted(zeros, "zero vector")] if zeros else []
        reason = _unusable(found)
        counts = [] if reason else [k for k in NEIGHBOURS if k < len(found)]
        values = neighbours(found, self.texts_of.labels, counts)
        lacking = reason or f"there are {len(found) - 1} other texts"
        scores = [
            Score(name, values.get(name), reason="" if name in values else lacking)
            for name in _NAMES
        ]
        return Outcome(tuple(scores), tuple(notes))


def neighbours(
    vectors: NDArray[np.float32], labels: Sequence[str], counts: Sequence[int]
) -> dict[str, float]:
    """``purity@K`` and ``distance@K`` of the directions ``vectors`` (texts, dim), for each K in
    ``counts``, which are less than there are texts."""
    rows = torch.from_numpy(vectors)
    classes = torch.from_numpy(np.unique(np.array(labels), return_inverse=True)[1])
    upto = [k - 1 for k in counts]
    pure, apart = torch.zeros(len(counts)).long(), torch.zeros(len(counts)).double()
    for start in range(0, len(rows) if counts else 0, _BLOCK):
        here = torch.arange(start, min(start + _BLOCK, len(rows)))
        cosines = rows[here] @ rows.T
        cosines[here - start, here] = -torch.inf  # itself
        near, places = cosines.topk(max(counts))
        same = classes[places] == classes[here, None]
        pure += same.cumsum(1)[:, upto].sum(0)
        apart += (1 - near.double()).cumsum(1)[:, upto].sum(0)
    each = torch.tensor(counts) * len(rows)
    purity, distance = (100 * pure / each).tolist(), (apart / each).tolist()
    return {
        f"{what}@{k}": value
        for what, found in (("purity", purity), ("distance", distance))
        for k, value in zip(counts, found, strict=True)
    }


def _unusable(found: NDArray[np.float32]) -> str:
    if not np.isfinite(found).all():
        return NOT_FINITE
    return "all embeddings are the same" if np.ptp(found, axis=0).max() < RESOLUTION else ""


def _open(data: DataSet, path: Path) -> Neighbourhood:
    return Neighbourhood(collect(data.name, path, read_table(path, "first")), data.name)


def _own(name: str, files: Sequence[Path]) -> Neighbourhood:
    examples = chain.from_iterable(read_table(file, "first") for file in files)
    return Neighbourhood(collect(name, files[0], examples), name)


NEIGHBOURHOOD = Kind(
    "neighbourhood",
    (
        DataSet(
            "neighbours",
            "clustering/StackOverflow.tsv",
            "StackOverflow, Xu et al. 2017, as Rakib et al. 2020 have it (label, tab, text)",
        ),
    ),
    _open,
    _own,
    layout="as for clustering",
    metrics=_NAMES,
)
