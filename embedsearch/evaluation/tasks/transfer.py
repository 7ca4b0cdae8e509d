"""Transfer: what a linear classifier reads out of frozen embeddings, by SentEval's protocol."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from embedsearch.data.counted import counted
from embedsearch.data.labelled import (
    Example,
    LabelledTexts,
    collect,
    read_classes,
    read_paraphrases,
    read_questions,
    read_table,
)
from embedsearch.errors import UserError
from embedsearch.evaluation.logistic import (
    FOLDS,
    PENALTIES,
    SEED,
    Labelled,
    Tested,
    Unfinished,
    folded,
    nested,
    split,
)
from embedsearch.evaluation.task import DataSet, Embed, Kind, Outcome, Score, Subject

_FOLDS = f"{FOLDS} stratified folds (shuffled by seed {SEED}, texts in order of words and label)"
_TESTED = {
    1: f"mean of {_FOLDS}, tuned within each by {FOLDS} such folds of its training texts",
    2: f"on the test part, tuned by {_FOLDS} of the training part",
    3: "on the test part, tuned on the dev part",
}
_CLASSIFIER = (
    "logistic regression on frozen embeddings as they are, at its minimum (SentEval: early-stopped "
    f"Adam), penalty of {', '.join(f'{p:.0e}' for p in PENALTIES)} on the mean loss, intercept "
    "included: C = 1/(texts x penalty), twice that for two labels"
)
_PAIRS = "; features |u-v| and u*v; f1: of label 1"

_BINARY = {
    "mr": ("rt-polarity.pos", "rt-polarity.neg"),
    "cr": ("custrev.pos", "custrev.neg"),
    "subj": ("subj.objective", "subj.subjective"),
    "mpqa": ("mpqa.pos", "mpqa.neg"),
}
_SENTEVAL = "{}, as SentEval's data/get_transfer_data.bash lays it out"

Part = tuple[LabelledTexts, ...]
"""Texts, or the first and the second texts of pairs, which have the same labels."""


@dataclass(frozen=True)
class Transfer:
    """One part (nested folds), train and test, or train, dev and test; of texts or of pairs."""

    name: str
    parts: tuple[Part, ...]

    @property
    def protocol(self) -> str:
        pairs = _PAIRS if len(self.parts[0]) > 1 else ""
        return f"accuracy x100 {_TESTED[len(self.parts)]}; {_CLASSIFIER}{pairs}"

    @property
    def fingerprint(self) -> str:
        sides = chain.from_iterable(self.parts)
        return hashlib.sha256("".join(s.fingerprint for s in sides).encode()).hexdigest()[:16]

    def texts(self) -> Iterable[str]:
        return chain.from_iterable(side.texts for part in self.parts for side in part)

    def labelled(self, embed: Embed) -> list[Labelled]:
        """The features of each part, and its labels as numbers in their alphabetical order."""
        numbers = {name: number for number, name in enumerate(self._names())}
        return [
            Labelled(_features(part, embed), np.array([numbers[label] for label in part[0].labels]))
            for part in self.parts
        ]

    def score(self, subject: Subject) -> Outcome:
        """``accuracy``, with its spread over the folds where there are any; ``f1`` for pairs."""
        parts = self.labelled(subject.embed)
        notes = self._notes(parts)
        if reason := _untestable(parts):
            return Outcome((Score("accuracy", None, reason=reason),), notes)
        tested, unfinished = _test(parts)
        values = [each.accuracy for each in tested]
        sd = float(np.std(values, ddof=1)) if len(values) > 1 else None
        scores = [Score("accuracy", float(np.mean(values)), sd)]
        scores += [Score("f1", _f1(each)) for each in tested if len(self.parts[0]) > 1]
        chosen = [each.penalty for each in tested]
        told = [f"{chosen.count(p)} with {p:.0e}" for p in PENALTIES if p in chosen]
        notes += (f"classifiers: {', '.join(told)}",)
        notes += (f"{counted(unfinished, 'fit')} stopped before the minimum",) if unfinished else ()
        return Outcome(tuple(scores), notes)

    def _names(self) -> list[str]:
        return sorted({label for side, *_ in self.parts for label in side.labels})

    def _notes(self, parts: Sequence[Labelled]) -> tuple[str, ...]:
        names = self._names()
        sizes = " + ".join(f"{len(part.labels):,}" for part in parts)
        what = "texts" if len(self.parts[0]) == 1 else "pairs"
        notes = [f"{sizes} {what}, {counted(len(names), 'label')}"]
        blank = sum(side.counts.blank for side in chain.from_iterable(self.parts))
        notes += [f"{blank} blank"] if blank else []
        seen = np.bincount(parts[0].labels, minlength=len(names))
        unseen = [name for name, count in zip(names, seen, strict=True) if not count]
        notes += [f"not in the training part, so counted wrong: {', '.join(unseen)}"] * bool(unseen)
        rare = [name for name, count in zip(names, seen, strict=True) if 0 < count < FOLDS]
        if len(parts) < 3 and rare:
            notes += [f"fewer than {FOLDS} texts, so not in every fold: {', '.join(rare)}"]
        return tuple(notes)


def _untestable(parts: Sequence[Labelled]) -> str:
    """Why there is no number; empty where there is one."""
    if not all(np.isfinite(part.rows).all() for part in parts):
        return "some embeddings are not finite"
    counts = np.bincount(parts[0].labels)
    if (counts > 0).sum() < 2:
        return "all training texts have one label, so there is nothing to tell apart"
    needed = {1: 3, 2: 2}.get(len(parts), 1)  # for two folds, and for two inside one of them
    if counts.max() < needed:
        return f"no label has more than {counts.max()} texts, and folds take {needed}"
    return ""


def _features(part: Part, embed: Embed) -> NDArray[np.float32]:
    rows = [embed(side.texts) for side in part]
    if len(rows) == 1:
        return rows[0]
    first, second = rows
    return np.hstack([np.abs(first - second), first * second])


def _test(parts: Sequence[Labelled]) -> tuple[list[Tested], int]:
    """What is found, and how many fits did not come to their end.

    Each fit on one thread: its matrices are too small for more, which busy cores would stall.
    Where Newton's steps go astray in float32 scikit-learn turns to L-BFGS, and its word of that is
    of no interest here.
    """
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1), warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        tested = (
            nested(*parts)
            if len(parts) == 1
            else [folded(*parts) if len(parts) == 2 else split(*parts)]
        )
    return tested, sum(issubclass(warning.category, Unfinished) for warning in told)


def _f1(tested: Tested) -> float:
    """x100, of the class numbered 1."""
    both = (tested.predicted == 1) & (tested.gold == 1)
    either = (tested.predicted == 1).sum() + (tested.gold == 1).sum()
    return 200 * float(both.sum() / max(either, 1))


def _texts(name: str, place: Path, examples: Iterable[Example]) -> Part:
    """In SentEval's order, on which its folds depend: by number of words, then label."""
    ordered = sorted(examples, key=lambda row: (len(row[1].split()), row[0]))
    return (collect(name, place, ordered),)


def _pairs(name: str, file: Path) -> Part:
    ordered = sorted(
        read_paraphrases(file), key=lambda row: (len(row[1].split()), len(row[2].split()), row[0])
    )
    first = collect(name, file, ((label, text) for label, text, _ in ordered))
    return first, collect(name, file, ((label, text) for label, _, text in ordered))


def _open(data: DataSet, path: Path) -> Transfer:
    name = data.name
    if name in _BINARY:
        positive, negative = (path / file for file in _BINARY[name])
        examples = read_classes({"1": positive, "0": negative})
        return Transfer(name, (_texts(name, path, examples),))
    if name == "sst2":
        files = [path / f"sentiment-{part}" for part in ("train", "dev", "test")]
        return Transfer(name, tuple(_texts(name, f, read_table(f, "last")) for f in files))
    if name == "trec":
        files = [path / file for file in ("train_5500.label", "TREC_10.label")]
        return Transfer(name, tuple(_texts(name, f, read_questions(f)) for f in files))
    files = [path / f"msr_paraphrase_{part}.txt" for part in ("train", "test")]
    return Transfer(name, tuple(_pairs(name, file) for file in files))


def _own(name: str, files: Sequence[Path]) -> Transfer:
    """A label and a text in each line with a tab between; one file, or train, (dev,) and test."""
    if len(files) not in _TESTED:
        raise UserError(f"task '{name}': {len(files)} files; give one, train and test, or with dev")
    parts = tuple(_texts(name, file, read_table(file, "first")) for file in files)
    labels = set(parts[0][0].labels)
    if len(labels) < 2:
        raise UserError(f"{files[0]}: all texts have the label '{labels.pop()}'; give two or more")
    return Transfer(name, parts)


TRANSFER = Kind(
    "transfer",
    (
        DataSet("mr", "MR", _SENTEVAL.format("Pang & Lee's movie reviews")),
        DataSet("cr", "CR", _SENTEVAL.format("Hu & Liu's customer reviews")),
        DataSet("subj", "SUBJ", _SENTEVAL.format("Pang & Lee's subjectivity")),
        DataSet("mpqa", "MPQA", _SENTEVAL.format("Wiebe et al.'s opinions")),
        DataSet("sst2", "SST/binary", _SENTEVAL.format("Stanford Sentiment Treebank")),
        DataSet("trec", "TREC", _SENTEVAL.format("Li & Roth's questions")),
        DataSet("mrpc", "MRPC", _SENTEVAL.format("Microsoft Research's paraphrases")),
    ),
    _open,
    _own,
    layout="label TAB text in each line; one file, or train and test, or train, dev and test",
    metrics=("accuracy",),
    averages={"transfer_avg": ("mr", "cr", "subj", "mpqa", "sst2", "trec", "mrpc")},
)
