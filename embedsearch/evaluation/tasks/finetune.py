"""Few-shot and full fine-tuning (GUR): the backbone trained with a classification layer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, stdev

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F

from embedsearch.data.counted import counted
from embedsearch.data.labelled import LabelledTexts, collect
from embedsearch.data.parts import only_folder, read_part
from embedsearch.encoder.model import Encoder
from embedsearch.errors import UserError
from embedsearch.evaluation.draws import batches, class_notes, shuffled_classes
from embedsearch.evaluation.task import Kind, Outcome, Score, Subject
from embedsearch.records import content_id

SHOTS = 8
SEEDS = 3
FEW_STEPS = 300
ALL_STEPS = 1000
BATCH = 32
BACKBONE_RATE = 1e-4
HEAD_RATE = 1e-3
WARMUP = 0.1

_PROTOCOL = (
    "test accuracy x100 of the last step; the encoder without its projection and a softmax layer "
    "from zeros, all trained: Adam, backbone 1e-4, layer 1e-3, warm-up over 10%, then linear to 0, "
    "batches of 32, the backbone's own dropout; 8-shot: 8 training texts a class, 300 steps, mean "
    "and sample sd of 3 draws (seeds 0-2); fine-tuned: all training texts, 1000 steps, seed 0"
)


class Classifier(nn.Module):
    """A copy of an encoder, without its projection, and a linear layer on it: texts to logits."""

    def __init__(self, encoder: Encoder, classes: int) -> None:
        super().__init__()
        self.encoder = deepcopy(encoder).requires_grad_(True)
        self.encoder.projection = None
        self.head = nn.Linear(self.encoder.dim, classes, device=encoder.device)
        nn.init.zeros_(self.head.weight)
        nn.init.zeros_(self.head.bias)
        self.fit = 0.0
        """Percent of the training texts that were right, dropout and all, in the last tenth of the
        steps."""

    def forward(self, texts: Sequence[str]) -> Tensor:
        """Logits, (texts, classes), under the mode's dropout."""
        batch = self.encoder.tokenizer(
            list(texts),
            truncation=True,
            max_length=self.encoder.facts.max_tokens,
            padding=True,
            return_tensors="pt",
        )
        inputs = {
            key: batch[key].to(self.head.weight.device) for key in ("input_ids", "attention_mask")
        }
        logits: Tensor = self.head(self.encoder.encode(inputs))
        return logits

    @torch.no_grad()
    def predict(self, texts: Sequence[str]) -> Tensor:
        """Logits, (texts, classes) on the CPU, without dropout."""
        embedded = self.encoder.embed(texts)
        logits: Tensor = self.head(embedded.to(self.head.weight.device)).cpu()
        return logits


def train(
    encoder: Encoder, texts: Sequence[str], labels: NDArray[np.int64], steps: int, seed: int
) -> Classifier:
    """A classifier trained on ``texts``; ``encoder`` stays as it is, and so do torch's seeds."""
    devices = [encoder.device] if encoder.device.type == "cuda" else []
    with torch.random.fork_rng(devices):
        torch.manual_seed(seed)
        model = Classifier(encoder, int(labels.max()) + 1).train()
        groups = [
            {"params": model.encoder.parameters(), "lr": BACKBONE_RATE},
            {"params": model.head.parameters(), "lr": HEAD_RATE},
        ]
        optimiser = torch.optim.Adam(groups)
        schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda step: _factor(step, steps))
        right = []
        for rows in batches(len(texts), steps, BATCH, seed):
            gold = torch.from_numpy(labels[rows]).to(encoder.device)
            logits = model([texts[row] for row in rows])
            loss = F.cross_entropy(logits, gold)
            right.append((logits.argmax(1) == gold).double().mean())
            optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimiser.step()
            schedule.step()
    model.fit = 100 * float(torch.stack(right[-max(1, steps // 10) :]).mean())
    return model.eval()


def _factor(step: int, steps: int) -> float:
    warm = WARMUP * steps
    return min((step + 1) / warm, (steps - step) / (steps - warm))


@dataclass(frozen=True)
class FineTuning:
    """Texts to train on and texts to test on."""

    name: str
    train: LabelledTexts
    test: LabelledTexts
    protocol: str = _PROTOCOL

    @property
    def fingerprint(self) -> str:
        return content_id([self.train.fingerprint, self.test.fingerprint])

    def texts(self) -> Iterable[str]:
        """None: what is embedded is embedded by encoders that are trained here."""
        return ()

    def score(self, subject: Subject) -> Outcome:
        """``8-shot`` with its sd, and ``fine-tuned``."""
        encoder = subject.encoder()
        few = [self._run(encoder, self._few(seed), FEW_STEPS, seed) for seed in range(SEEDS)]
        every = [self._run(encoder, np.arange(len(self.train)), ALL_STEPS, 0)]
        runs = {f"{SHOTS}-shot": few, "fine-tuned": every}
        scores = tuple(_mean(name, [found for found, _ in each]) for name, each in runs.items())
        fits = [f"{name} {fmean(fit for _, fit in each):.0f}%" for name, each in runs.items()]
        notes = class_notes(self.train.labels, self.test.labels, SHOTS)
        seen = counted(len(self.train), "training text")
        notes.append(f"{seen}; right of those seen at the end: {', '.join(fits)}")
        return Outcome(scores, tuple(notes))

    def _few(self, seed: int) -> NDArray[np.int64]:
        return np.concatenate([rows[:SHOTS] for rows in shuffled_classes(self.train.labels, seed)])

    def _run(
        self, encoder: Encoder, rows: NDArray[np.int64], steps: int, seed: int
    ) -> tuple[float | None, float]:
        """Test accuracy, None where the training diverged, and the classifier's ``fit``."""
        names, codes = np.unique(self.train.labels, return_inverse=True)
        texts = [self.train.texts[row] for row in rows]
        model = train(encoder, texts, codes[rows], steps, seed)
        logits = model.predict(self.test.texts)
        if not logits.isfinite().all():
            return None, model.fit
        right = names[logits.argmax(1)] == np.array(self.test.labels)
        return 100 * float(right.mean()), model.fit


def _mean(name: str, values: Sequence[float | None]) -> Score:
    found = [value for value in values if value is not None]
    if len(found) < len(values):
        return Score(name, None, reason=f"the training diverged in {len(values) - len(found)} runs")
    return Score(name, fmean(found), stdev(found) if len(found) > 1 else None)


def _no_sets(*_: object) -> FineTuning:
    raise UserError("finetune has no published sets; name a folder, as in finetune:FOLDER")


def _own(name: str, files: Sequence[Path]) -> FineTuning:
    folder = only_folder(name, files)
    parts = [collect(name, folder, read_part(folder, part)) for part in ("train", "test")]
    if len(set(parts[0].labels)) < 2:
        raise UserError(f"{folder}: classification takes two labels at least; give more texts")
    return FineTuning(name, parts[0], parts[1])


FINETUNE = Kind(
    "finetune",
    (),
    _no_sets,
    _own,
    layout="FOLDER as for intent, of train and test",
    metrics=("fine-tuned", f"{SHOTS}-shot"),
)
"""It trains the backbone four times, so no group of tasks has it: it runs where a folder is named.
GUR prints no shots, rates or steps; all of them are ours."""
