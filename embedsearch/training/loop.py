"""The training loop: batches to views, views to terms, terms to a step."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

import torch
from torch import Tensor, nn

from embedsearch.encoder.model import Encoder
from embedsearch.methods.base import Batch, Method, MethodConfig
from embedsearch.records import Measurement
from embedsearch.training.checkpoint import Checkpoint, Progress
from embedsearch.training.chunks import CachedGradients
from embedsearch.training.gradients import Gradients, autocast
from embedsearch.training.optimiser import make_optimiser, set_rates
from embedsearch.training.ranks import ALONE, Ranks

T = TypeVar("T")
Report = Callable[[Measurement], None]
Evaluate = Callable[[Encoder], float]
"""The dev score of an encoder; raises ``Diverged`` where there is none."""


class Diverged(Exception):
    """Training left the numbers: NaN, zero vectors or constant scores. Deterministic."""


@dataclass(frozen=True)
class Course:
    """How long and how a trial trains."""

    config: MethodConfig
    total_steps: int
    eval_steps: int
    seed: int
    precision: str
    save_s: float
    """A state to go on from at an evaluation, at most this often."""
    rungs: tuple[int, ...] = ()
    """And at these steps."""
    chunk_size: int | None = None
    """Rows that a device encodes at once; None for the whole batch."""


class Training:
    """One trial's training, from its last state to its end."""

    def __init__(
        self,
        encoder: Encoder,
        method: Method,
        batch_at: Callable[[int], Batch],
        course: Course,
        checkpoint: Checkpoint,
        ranks: Ranks = ALONE,
    ) -> None:
        """``batch_at(step)`` gives the batch of optimiser step 0, 1, …, all of it on every rank."""
        self.encoder, self.method = encoder, method
        self.batch_at, self.course, self.checkpoint = batch_at, course, checkpoint
        groups = method.parameter_groups(encoder, course.config.learning_rate)
        self.optimiser = make_optimiser(groups, course.config.weight_decay)
        self.trained = [p for group in self.optimiser.param_groups for p in group["params"]]
        self.ranks = ranks
        self.gradients = Gradients(encoder, method, course.precision)
        if course.chunk_size is not None or ranks.size > 1:
            self.gradients = CachedGradients(
                encoder, method, course.precision, self.trained, course.chunk_size, ranks
            )
        companion = method.companion()
        self.kept = nn.ModuleList([encoder, companion] if companion else [encoder])
        self.progress = Progress()
        self.best: dict[str, Tensor] = {}
        self.terms: dict[str, Tensor] = {}
        self.rows = 0
        self.saved_at = self.measured_at = time.monotonic()

    def run(self, report: Report, evaluate: Evaluate) -> Progress:
        """Train to the last step; encoder and companion then hold their best weights.

        ``report`` is given every measurement, those before a restart first. Raises ``Diverged``.
        """
        course = self.course
        self._start_or_go_on(report, evaluate)
        while self.progress.step < course.total_steps:
            self._step(self.progress.step + 1)
            step = self.progress.step
            if step % course.eval_steps == 0 or step == course.total_steps:
                self._measure(report, evaluate)
        self.kept.load_state_dict(self.best)
        return self.progress

    def _start_or_go_on(self, report: Report, evaluate: Evaluate) -> None:
        torch.manual_seed(self.course.seed)
        modules = {"encoder": self.encoder, "heads": self.method}
        if restored := self.checkpoint.restore(modules, self.optimiser):
            self.progress, self.best = restored
            for measurement in self.progress.history:
                report(measurement)
        else:
            score = self.evaluated(evaluate)
            self.progress.start_score = score
            self._keep_if_best(score)
            self._record(report, {"dev/spearman": score})
        self.ranks.level([*self.encoder.state_dict().values(), *self.method.state_dict().values()])
        self.encoder.train()
        self.method.train()
        self.measured_at = time.monotonic()

    def _step(self, step: int) -> None:
        if self.method.fitted:
            self._fit()
        else:
            self._descend(step)
        self.progress.step = step

    @torch.no_grad()
    def _fit(self) -> None:
        self.encoder.eval()
        with autocast(self.encoder, self.course.precision):
            self.method.fit(self.encoder, self.batch_at)

    def _descend(self, step: int) -> None:
        """One step of the optimiser."""
        course = self.course
        batch = _to(self.encoder.device, self.batch_at(step - 1))
        self.rows += len(batch["input_ids"])
        terms = self.gradients.add(batch)
        torch.nn.utils.clip_grad_norm_(self.trained, course.config.max_grad_norm)
        shape = course.config.schedule, course.config.warmup_ratio
        set_rates(self.optimiser, step, course.total_steps, *shape)
        self.optimiser.step()
        self.optimiser.zero_grad(set_to_none=True)
        for name, value in terms.items():
            self.terms[name] = self.terms.get(name, 0) + value.detach()

    def _measure(self, report: Report, evaluate: Evaluate) -> None:
        step = self.progress.step
        steps = step - self.progress.history[-1].step
        terms = {f"loss/{name}": value.item() / steps for name, value in self.terms.items()}
        self.terms = {}
        loss = sum(terms.values())
        if not math.isfinite(loss):
            bad = next((name for name, value in terms.items() if not math.isfinite(value)), "loss")
            raise Diverged(f"{bad} is not finite at step {step}")
        seconds = time.monotonic() - self.measured_at
        score = self.evaluated(evaluate)
        self._keep_if_best(score)
        speed, self.rows = self.rows / seconds, 0
        losses = {"loss": loss, **terms} if terms else {}
        metrics = {"dev/spearman": score, **losses, "sentences_per_s": speed}
        self._record(report, metrics)

    def _record(self, report: Report, metrics: Mapping[str, float]) -> None:
        """Saved before it is reported: on a report the trial may be left."""
        now = time.monotonic()
        self.progress.seconds += now - self.measured_at
        self.measured_at = now
        measurement = Measurement(self.progress.step, dict(metrics))
        self.progress.history.append(measurement)
        if self._is_to_be_saved():
            self._save()
        report(measurement)

    def _is_to_be_saved(self) -> bool:
        course, step = self.course, self.progress.step
        is_due = time.monotonic() - self.saved_at >= course.save_s or step in course.rungs
        return is_due and 0 < step < course.total_steps

    def _keep_if_best(self, score: float) -> None:
        """The best after step 0, so that a score shows what training gave, not what was there."""
        progress = self.progress
        trains = self.course.total_steps > 0
        if progress.step == 0 and trains:
            return
        if progress.best_score is None or score > progress.best_score:
            progress.best_score, progress.best_step = score, progress.step
            state = self.kept.state_dict()
            self.best = {name: value.detach().cpu().clone() for name, value in state.items()}

    def _save(self) -> None:
        modules = {"encoder": self.encoder, "heads": self.method}
        self.checkpoint.save(self.progress, modules, self.optimiser, self.best)
        self.saved_at = time.monotonic()

    def evaluated(self, evaluate: Callable[[Encoder], T]) -> T:
        """What ``evaluate`` makes of the encoder as it is, in the precision it trains in."""
        with autocast(self.encoder, self.course.precision):
            return evaluate(self.encoder)


def _to(device: torch.device, batch: Batch) -> Batch:
    if device.type == "cpu":
        return batch
    return {name: value.pin_memory().to(device, non_blocking=True) for name, value in batch.items()}
