"""When a trial is stopped early: Ray Tune's schedulers, and keeping the best of all."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import accumulate
from types import SimpleNamespace
from typing import Any

from embedsearch.config import unknown
from embedsearch.errors import UserError
from embedsearch.labels import count

SCORE = "score"
"""What a trial reports to searcher and scheduler: its best dev score so far."""

REDUCTION = 3
"""Of those that reach a rung one in so many goes on (asha, hyperband)."""
BRACKETS = 3
"""How many first rungs hyperband tries beside each other."""
EVALUATIONS = 2
"""After so many evaluations the median rule begins, and topk chooses."""
Curves = Mapping[str, Mapping[int, float]]
"""Dev scores by step, of trials by spec id."""

NAMES = ("none", "asha", "hyperband", "median", "topk")


@dataclass(frozen=True)
class Stopping:
    """A rule over dev scores at the same optimiser step, each trial under its full schedule."""

    name: str = "none"
    total_steps: int = 1
    eval_steps: int = 1
    keeps: int = 0
    """How many go on to their end by ``topk``."""

    @classmethod
    def parse(cls, written: str, total_steps: int, eval_steps: int) -> Stopping:
        """``none``, ``asha``, ``hyperband``, ``median``, ``topk`` or ``topk=5``.

        ``total_steps``: of the longest trial. Raises ``UserError`` for anything else.
        """
        name, equals, number = written.partition("=")
        if name not in NAMES:
            raise UserError(f"--stop: {unknown('rule', name, NAMES)}")
        if equals and (name != "topk" or not number.isdecimal() or not int(number)):
            raise UserError(f"--stop {written}: only topk takes a number, from 1: topk=5")
        keeps = (int(number) if number else 3) if name == "topk" else 0
        found = cls(name, total_steps, eval_steps, keeps)
        if name != "none" and not found.rungs:
            raise UserError(
                f"--stop {name}: with {count(total_steps, 'step')} and a dev score every "
                f"{eval_steps} there is no score to stop at; lower --eval-steps"
            )
        return found

    @property
    def is_early(self) -> bool:
        """Whether it stops any trial at all."""
        return self.name != "none"

    @property
    def rungs(self) -> tuple[int, ...]:
        """The steps at which scores are compared, each a multiple of ``eval_steps``."""
        if self.name in ("asha", "hyperband"):
            return tuple(s for s in self._asha_rungs() if s < self.total_steps)
        first = EVALUATIONS * self.eval_steps
        if self.name == "median":
            return tuple(range(first, self.total_steps, self.eval_steps))
        if self.name == "topk":
            return (first,) if first < self.total_steps else ()
        return ()

    def _asha_rungs(self) -> list[int]:
        rungs, step = [], self._grace
        while step <= self.total_steps:
            rungs.append(step)
            step *= REDUCTION
        return rungs

    @property
    def _grace(self) -> int:
        """The first rung: the third halving from the end, or the first score."""
        share = self.total_steps / REDUCTION**3
        return self.eval_steps * max(1, math.ceil(share / self.eval_steps))

    def scheduler(self) -> Any:
        """Ray Tune's, by the reports' ``step`` and score; None where no trial is stopped by one.

        It never stops a trial at its last step, where nothing would be saved.
        """
        from ray.tune import schedulers

        common = {"time_attr": "step", "metric": SCORE, "mode": "max"}
        if self.name in ("asha", "hyperband"):
            return schedulers.AsyncHyperBandScheduler(
                **common,
                max_t=max(self._grace, self.total_steps - 1),
                grace_period=self._grace,
                reduction_factor=REDUCTION,
                brackets=min(BRACKETS, len(self.rungs)) if self.name == "hyperband" else 1,
                stop_last_trials=False,
            )
        if self.name == "median":
            return _median()(**common, grace_period=self.rungs[0])
        return None

    def __str__(self) -> str:
        rungs = ", ".join(map(str, self.rungs))
        return {
            "none": "none",
            "asha": f"asha: a third goes on at steps {rungs}",
            "hyperband": f"hyperband: a third goes on at steps {rungs}, by brackets",
            "median": f"median: from step {self.rungs[0] if self.rungs else 0} on",
            "topk": f"topk: the best {self.keeps} at step {rungs} go on",
        }[self.name]


TO_THE_END = Stopping()


def _median() -> Any:
    """Ray Tune's rule, but for what it does with a trial while there are too few to compare: it
    would pause it for one that waits, and what is paused begins anew, a finished one too."""
    from ray.tune import schedulers

    class Median(schedulers.MedianStoppingRule):  # type: ignore[misc]
        def _on_insufficient_samples(self, *_: Any) -> str:
            return str(schedulers.TrialScheduler.CONTINUE)

    return Median


@dataclass(frozen=True)
class _Past:
    """What a scheduler looks at in a trial."""

    trial_id: str


def replay(scheduler: Any, curves: Curves) -> None:
    """Let a scheduler see what trials of earlier commands scored at which step."""
    controller = SimpleNamespace(get_live_trials=list)
    for name, curve in curves.items():
        trial = _Past(name)
        scheduler.on_trial_add(controller, trial)
        for step, score in best_so_far(curve).items():
            scheduler.on_trial_result(controller, trial, {"step": step, SCORE: score})


def best_so_far(curve: Mapping[int, float]) -> dict[int, float]:
    """A curve as searcher and scheduler are told it: at each step the best score after step 0."""
    later = [step for step in sorted(curve) if step > 0]
    bests = accumulate((curve[step] for step in later), max)
    begun = {0: curve[0]} if 0 in curve else {}
    return begun | dict(zip(later, bests, strict=True))
