"""Is what a premise entails nearer to it than what contradicts it? (VaSCL, Figure 2b.)"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np

from embedsearch.data.counted import counted
from embedsearch.data.labelled import read_field_lines, read_parallel
from embedsearch.data.sentences import Cleaner
from embedsearch.errors import UserError
from embedsearch.evaluation.directions import NOT_FINITE, directions, distances
from embedsearch.evaluation.task import DataSet, Kind, Outcome, Score, Subject
from embedsearch.records import content_id

_PROTOCOL = (
    "each premise with its first entailment and its first contradiction, premises without both "
    "left out; distance: 1 - cosine; ratio: median of entailment distance / contradiction distance "
    "(less is better); nearer: % of premises nearer to the entailment"
)
_WANTED = ("entailment", "contradiction")

Row = tuple[str, str, str]
"""Label, premise and hypothesis, as written."""


@dataclass(frozen=True)
class Inference:
    """Premises, and of each a sentence it entails and one that contradicts it.

    The paper samples 20,000 premises of SNLI and MNLI; SentEval has SNLI's dev split.
    """

    name: str
    premises: tuple[str, ...]
    entailments: tuple[str, ...]
    contradictions: tuple[str, ...]
    left_out: int
    """Premises that lack one of the two."""
    protocol: str = _PROTOCOL

    @property
    def fingerprint(self) -> str:
        return content_id([self.premises, self.entailments, self.contradictions])

    def texts(self) -> Iterable[str]:
        return chain(self.premises, self.entailments, self.contradictions)

    def score(self, subject: Subject) -> Outcome:
        """``ratio``, ``nearer`` (times 100) and the mean distances; each premise's as arrays."""
        sides = [
            directions(subject.embed(texts))[0]
            for texts in (self.premises, self.entailments, self.contradictions)
        ]
        names = ("ratio", "nearer", *_WANTED)
        if not all(np.isfinite(side).all() for side in sides):
            return Outcome(tuple(Score(name, None, reason=NOT_FINITE) for name in names))
        entailed, contradicted = (distances(sides[0], side) for side in sides[1:])
        some = contradicted > 0
        notes = [f"{counted(len(some), 'premise')}, {self.left_out:,} without both left out"]
        notes += [f"{(~some).sum()} with a contradiction at distance 0"] if not some.all() else []
        reason = "" if some.any() else "every contradiction is at distance 0"
        ratio = None if reason else float(np.median(entailed[some] / contradicted[some]))
        values = (100 * (entailed < contradicted).mean(), entailed.mean(), contradicted.mean())
        scores = [Score("ratio", ratio, reason=reason)]
        scores += [Score(n, float(v)) for n, v in zip(names[1:], values, strict=True)]
        arrays = dict(zip(_WANTED, (entailed, contradicted), strict=True))
        return Outcome(tuple(scores), tuple(notes), arrays)


def _collect(name: str, place: Path, rows: Iterable[Row]) -> Inference:
    clean = Cleaner()
    found: dict[str, dict[str, str]] = {}
    for label, *sentences in rows:
        premise, hypothesis = (clean(" ".join(text.split())) or "" for text in sentences)
        found.setdefault(premise, {}).setdefault(label.strip().lower(), hypothesis)
    both = {premise: of for premise, of in found.items() if all(word in of for word in _WANTED)}
    if not both:
        raise UserError(
            f"{place}: no premise has both an entailment and a contradiction; give a file whose "
            "labels are these words"
        )
    entailments, contradictions = (tuple(of[word] for of in both.values()) for word in _WANTED)
    return Inference(name, tuple(both), entailments, contradictions, len(found) - len(both))


def _open(data: DataSet, path: Path) -> Inference:
    """SNLI as SentEval lays it out: ``s1.dev``, ``s2.dev`` and ``labels.dev``, line by line."""
    first, second = (read_parallel(path / f"s{n}.dev", path / "labels.dev") for n in (1, 2))
    rows = (
        (label, premise, hypo) for (label, premise), (_, hypo) in zip(first, second, strict=True)
    )
    return _collect(data.name, path, rows)


def _own(name: str, files: Sequence[Path]) -> Inference:
    return _collect(name, files[0], chain.from_iterable(map(_own_rows, files)))


def _own_rows(file: Path) -> Iterator[Row]:
    """Label, tab, premise, tab, hypothesis."""
    for number, line in enumerate(read_field_lines(file), start=1):
        cells = line.split("\t", 2)
        if len(cells) == 3:
            yield cells[0], cells[1], cells[2]
        elif line.strip():
            raise UserError(
                f"{file}, line {number}: no label, premise and hypothesis with tabs between; mend "
                "the line"
            )


INFERENCE = Kind(
    "inference",
    (DataSet("snli", "SNLI", "SNLI, as SentEval's data/get_transfer_data.bash lays it out"),),
    _open,
    _own,
    layout=("label TAB premise TAB hypothesis in each line; labels entailment and contradiction"),
    metrics=("ratio", "nearer", *_WANTED),
)
