"""Whether stopping early was safe: do early scores rank trials as late ones do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from embedsearch.labels import count

DEV = "dev/spearman"
_FEW = 3
"""Fewer trials have no rank correlation worth a word."""


@dataclass(frozen=True)
class Agreement:
    """Two steps, and Spearman's rank correlation between the scores that trials had there."""

    step: int
    later: int
    """0 for the end."""
    trials: int
    """That reached both."""
    correlation: float | None
    """None with fewer than three of them, or where all had the same score."""

    def __str__(self) -> str:
        to = f"step {self.later}" if self.later else "the end"
        trials = count(self.trials, "trial")
        if self.correlation is None:
            return f"  step {self.step} to {to}: {trials} reached both, too few to tell"
        return f"  step {self.step} to {to}: rank correlation {self.correlation:.2f} over {trials}"


def agreements(curves: Mapping[str, Mapping[int, float]], rungs: Sequence[int]) -> list[Agreement]:
    """Between each rung and the next, and between the last and the end.

    A trial's score at a step is its best up to there after step 0, as the rule saw it. Only those
    that a rung let go on have a later one, so the correlation is of the better ones: it tends to be
    lower than that over all trials.
    """
    end = max((max(curve, default=0) for curve in curves.values()), default=0)
    stops = [*rungs, end] if end > max(rungs, default=end) else list(rungs)
    return [_between(curves, step, later, end) for step, later in pairwise(stops)]


def _between(
    curves: Mapping[str, Mapping[int, float]], step: int, later: int, end: int
) -> Agreement:
    from scipy.stats import spearmanr

    both = [c for c in curves.values() if max(c, default=0) >= later]
    first, second = ([_best(curve, at) for curve in both] for at in (step, later))
    told = len(both) >= _FEW and len(set(first)) > 1 and len(set(second)) > 1
    correlation = float(spearmanr(first, second).statistic) if told else None
    return Agreement(step, 0 if later == end else later, len(both), correlation)


def _best(curve: Mapping[int, float], step: int) -> float:
    return max(score for at, score in curve.items() if 0 < at <= step)
