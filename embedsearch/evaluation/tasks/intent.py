"""Few-shot intent classification (VaSCL): a linear softmax layer on frozen embeddings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from statistics import fmean, stdev

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from embedsearch.data.counted import counted
from embedsearch.data.labelled import LabelledTexts, collect
from embedsearch.data.parts import has_part, only_folder, read_part
from embedsearch.errors import UserError
from embedsearch.evaluation.draws import batches, class_notes, shuffled_classes, told
from embedsearch.evaluation.task import DataSet, Kind, Outcome, Score, Subject
from embedsearch.records import content_id

SHOTS = (5, 10, 20)
SPLITS = 5
STEPS = 1000
BATCH = 32
RATE = 1e-4
EVERY = 100
"""Steps between two looks at the validation accuracy."""

_PROTOCOL = (
    "K-shot: test accuracy x100, mean and sample sd of 5 splits (seeds 0-4); train+valid merged, K "
    "training and K validation texts a class; linear softmax layer from zeros on the embeddings as "
    "they are, Adam 1e-4, 1000 steps of 32, the first step of the best validation accuracy, looked "
    "at every 100; a class short of 2K halved, a label of the test alone counted wrong"
)
_DROPPED = "; classes of under {} texts in train+valid dropped, from the test too"


@dataclass(frozen=True)
class Draws:
    """Rows of the training and the validation texts of each split, both (splits, texts)."""

    train: NDArray[np.int64]
    valid: NDArray[np.int64]


def draw(labels: Sequence[str], shots: int) -> Draws:
    """``shots`` of each class to train on and as many others to validate on, for every split.

    A class that has fewer than twice ``shots`` is halved, the odd one for training.
    """
    train, valid = [], []
    for split in range(SPLITS):
        classes = shuffled_classes(labels, split)
        train.append(np.concatenate([r[: min(shots, (len(r) + 1) // 2)] for r in classes]))
        valid.append(np.concatenate([r[::-1][: min(shots, len(r) // 2)] for r in classes]))
    return Draws(np.stack(train), np.stack(valid))


def fit(vectors: Tensor, labels: Tensor, draws: Draws) -> tuple[Tensor, NDArray[np.int64]]:
    """Train one layer for each split, all in one batched product, and keep each's best.

    ``vectors`` (texts, dim) have a last column of ones, which makes its weights the bias. Returns
    the weights (splits, dim, classes) and the step (splits,) they are of: the first of those with
    the best validation accuracy, the last one where nothing is left to validate on.
    """
    classes = int(labels.max()) + 1
    weights = torch.zeros(SPLITS, vectors.shape[1], classes, requires_grad=True)
    optimiser = torch.optim.Adam([weights], lr=RATE, fused=True)
    valid, gold = vectors[draws.valid], labels[draws.valid]
    steps = np.stack(
        [rows[batches(len(rows), STEPS, BATCH, split)] for split, rows in enumerate(draws.train)]
    )
    kept, right = [], []
    for step, rows in enumerate(steps.swapaxes(0, 1), start=1):
        logits = vectors[rows] @ weights  # the splits' losses are summed: each has its own weights
        loss = F.cross_entropy(logits.flatten(0, 1), labels[rows].flatten(), reduction="sum")
        optimiser.zero_grad()
        (loss / BATCH).backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        if step % EVERY == 0:
            kept.append(weights.detach().clone())
            right.append(((valid @ kept[-1]).argmax(2) == gold).sum(1).numpy())
    best = np.argmax(right, axis=0) if valid.shape[1] else np.full(SPLITS, len(kept) - 1)
    return torch.stack(kept)[best, range(SPLITS)], (best + 1) * EVERY


@contextmanager
def _one_thread() -> Iterator[None]:
    """Products so small are slower on more, and differ in their last digits."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


@dataclass(frozen=True)
class Intents:
    """Texts to draw from, texts to test on, and what was left out of them."""

    name: str
    pool: LabelledTexts
    test: LabelledTexts
    protocol: str = _PROTOCOL
    dropped: str = ""

    @property
    def fingerprint(self) -> str:
        return content_id([self.pool.fingerprint, self.test.fingerprint])

    @cached_property
    def draws(self) -> dict[int, Draws]:
        return {shots: draw(self.pool.labels, shots) for shots in SHOTS}

    def texts(self) -> Iterable[str]:
        """What is drawn in any split, and the test's."""
        rows = chain.from_iterable((each.train, each.valid) for each in self.draws.values())
        drawn = np.unique(np.concatenate([part.ravel() for part in rows]))
        return chain((self.pool.texts[row] for row in drawn), self.test.texts)

    def score(self, subject: Subject) -> Outcome:
        """``5-shot``, ``10-shot``, ``20-shot``: mean and sd over the splits."""
        texts = list(dict.fromkeys(self.texts()))
        place = {text: row for row, text in enumerate(texts)}
        embedded = torch.from_numpy(subject.embed(texts))
        if not embedded.isfinite().all():
            reason = "the embeddings hold NaN or infinity"
            return Outcome(tuple(Score(f"{shots}-shot", None, reason=reason) for shots in SHOTS))
        embedded = F.pad(embedded, (0, 1), value=1.0)
        pool = embedded[[place.get(text, 0) for text in self.pool.texts]]  # 0: in no draw
        names, codes = np.unique(self.pool.labels, return_inverse=True)
        code = {name: number for number, name in enumerate(names)}
        test = embedded[[place[text] for text in self.test.texts]]
        gold = torch.tensor([code.get(label, -1) for label in self.test.labels])
        scores, rising = [], []
        for shots, draws in self.draws.items():
            with _one_thread():
                weights, steps = fit(pool, torch.from_numpy(codes), draws)
            right = [(test @ each).argmax(1) == gold for each in weights]
            values = [100 * float(hits.double().mean()) for hits in right]
            scores.append(Score(f"{shots}-shot", fmean(values), stdev(values)))
            rising += [f"{shots}-shot"] if (steps == STEPS).sum() > SPLITS / 2 else []
        return Outcome(tuple(scores), tuple(self._notes(rising)))

    def _notes(self, rising: Sequence[str]) -> list[str]:
        blank = self.pool.counts.blank + self.test.counts.blank
        notes = class_notes(self.pool.labels, self.test.labels, 2 * max(SHOTS))
        notes += [self.dropped] if self.dropped else []
        notes += [counted(blank, "blank text")] if blank else []
        last = f"best at step {STEPS}, the last, in most splits, so perhaps too early: "
        notes += [last + ", ".join(rising)] if rising else []
        return notes


def _read(name: str, folder: Path, least: int = 0) -> Intents:
    """The intents of ``folder``, without those that have fewer than ``least`` texts to draw from
    (one that has none, in the test alone, stays there)."""
    parts = ["train", "valid"] if has_part(folder, "valid") else ["train"]
    pool = list(chain.from_iterable(read_part(folder, part) for part in parts))
    test = list(read_part(folder, "test"))
    held = Counter(label.strip() for label, _ in pool)
    few = {label: count for label, count in held.items() if count < least}
    if len(held) - len(few) < 2:
        raise UserError(f"{folder}: classification takes two labels at least; give more texts")
    kept = [
        [(label, text) for label, text in each if label.strip() not in few] for each in (pool, test)
    ]
    lost = counted(len(test) - len(kept[1]), "test text")
    left = f"dropped, with {lost}: {told(few)}" if few else ""
    protocol = _PROTOCOL + (_DROPPED.format(least) if least else "")
    both = [collect(name, folder, each) for each in kept]
    return Intents(name, both[0], both[1], protocol, left)


def _open(data: DataSet, path: Path) -> Intents:
    """VaSCL drops ATIS's classes of under 40 texts, what 20 shots take, and says so of no other."""
    return _read(data.name, path, least=40 if data.name == "atis" else 0)


def _own(name: str, files: Sequence[Path]) -> Intents:
    return _read(name, only_folder(name, files))


_SOURCE = "github.com/jianguoz/Few-Shot-Intent-Detection, Datasets/{}"
_SETS = ("SNIPS", "BANKING77", "CLINC150", "HWU64", "ATIS")

INTENT = Kind(
    "intent",
    tuple(DataSet(name.lower(), name, _SOURCE.format(name)) for name in _SETS),
    _open,
    _own,
    layout=(
        "FOLDER of train, perhaps valid, and test: PART.tsv of label TAB text, or PART/seq.in and"
        " PART/label line by line"
    ),
    metrics=tuple(f"{shots}-shot" for shots in SHOTS),
    averages={
        f"intent {shots}-shot": tuple(f"{n.lower()}/{shots}-shot" for n in _SETS if n != "ATIS")
        for shots in SHOTS
    },
)
"""VaSCL prints no average; ours are over the sets of its Table 3, each number of shots apart."""
