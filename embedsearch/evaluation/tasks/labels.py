"""Zero-shot classification (GUR): the label whose text lies nearest."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from embedsearch.data.counted import counted
from embedsearch.data.labelled import LabelledTexts, collect, read_table
from embedsearch.data.parts import has_part, only_folder, read_part
from embedsearch.errors import UserError
from embedsearch.evaluation.task import DataSet, Kind, Outcome, Score, Subject
from embedsearch.records import content_id

_PROTOCOL = (
    "zero-shot: test accuracy x100 of the label whose text has the highest cosine; texts from {}"
)
_OWN_NAMES = "the labels of train and test, underscores as spaces"


@dataclass(frozen=True)
class NearestLabel:
    """Texts to classify, and the texts that stand for the labels."""

    name: str
    test: LabelledTexts
    candidates: LabelledTexts
    """Each label's text, or several."""
    protocol: str

    @property
    def fingerprint(self) -> str:
        return content_id([self.test.fingerprint, self.candidates.fingerprint])

    def texts(self) -> Iterable[str]:
        return (*self.candidates.texts, *self.test.texts)

    def score(self, subject: Subject) -> Outcome:
        """``zero-shot``; a text of all zeros is as near to every label, and gets the first."""
        labels, zero_labels = _directions(subject.embed(self.candidates.texts))
        texts, zero_texts = _directions(subject.embed(self.test.texts))
        label_count = counted(len(set(self.candidates.labels)), "label")
        notes = [f"{counted(len(self.test), 'test text')}, {label_count}"]
        zeros = zero_labels + zero_texts
        notes += [counted(zeros, "zero vector")] if zeros else []
        cosines = texts @ labels.T
        if not np.isfinite(cosines).all():
            reason = "the embeddings hold NaN or infinity"
            return Outcome((Score("zero-shot", None, reason=reason),), tuple(notes))
        nearest = np.array(self.candidates.labels)[cosines.argmax(axis=1)]
        right = float((nearest == np.array(self.test.labels)).mean())
        return Outcome((Score("zero-shot", 100 * right),), tuple(notes))


def _directions(vectors: NDArray[np.float32]) -> tuple[NDArray[np.float32], int]:
    """Vectors of length one, and how many have none."""
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    zero = norms == 0
    norms[zero] = 1
    return vectors / norms, int(zero.sum())


def _read(name: str, folder: Path) -> NearestLabel:
    """The ``test`` part of ``folder``, and its ``labels.tsv`` (label TAB text) where it has one."""
    test = collect(name, folder, read_part(folder, "test"))
    named = folder / "labels.tsv"
    if named.is_file():
        candidates = collect(name, named, read_table(named, "first"))
        if lacking := sorted(set(test.labels) - set(candidates.labels)):
            raise UserError(f"{named}: it has no text for the label '{lacking[0]}'; add a line")
    else:
        train = read_part(folder, "train") if has_part(folder, "train") else ()
        labels = sorted({*test.labels, *(label.strip() for label, _ in train)})
        candidates = collect(name, folder, ((label, label.replace("_", " ")) for label in labels))
    if len(set(candidates.labels)) < 2:
        raise UserError(f"{folder}: classification takes two labels at least; give more texts")
    source = named.name if named.is_file() else _OWN_NAMES
    return NearestLabel(name, test, candidates, _PROTOCOL.format(source))


def _own(name: str, files: Sequence[Path]) -> NearestLabel:
    return _read(name, only_folder(name, files))


_SOURCE = "github.com/jianguoz/Few-Shot-Intent-Detection, Datasets/{}"

LABELS = Kind(
    "labels",
    tuple(
        DataSet(f"labels-{name.lower()}", f"intent/{name}", _SOURCE.format(name))
        for name in ("BANKING77", "CLINC150", "HWU64")
    ),
    lambda data, path: _read(data.name, path),
    _own,
    layout=(
        "FOLDER as for intent, of test; the labels say what they mean, or labels.tsv does (label "
        "TAB text)"
    ),
    metrics=("zero-shot",),
)
"""GUR's own sets are custom Chinese ones of tens or hundreds of classes, and not published; these
have as many, and labels that say what they mean."""
