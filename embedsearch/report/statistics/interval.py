"""Intervals of means over seeds, by Student's t."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean, variance

CONFIDENCE = 0.95
Interval = tuple[float, float]


def mean_interval(scores: Sequence[float]) -> Interval | None:
    """Where the mean of all seeds lies; None with fewer than two."""
    if len(scores) < 2:
        return None
    return _around(fmean(scores), variance(scores) / len(scores), len(scores) - 1)


def difference_interval(
    first: Sequence[float], second: Sequence[float], spread: float | None = None
) -> Interval | None:
    """Where the difference of two means lies; None where nothing tells how far it varies.

    ``spread``: its standard deviation, where more than the seeds tells it; then one seed is enough.
    Else each needs two. Few seeds know their own spread badly, so the interval is as wide as
    Student's t by the degrees of freedom that the seeds' part of the variance leaves (Welch and
    Satterthwaite: the seeds of both need not vary alike).
    """
    parts = [(variance(s) / len(s), len(s) - 1) for s in (first, second) if len(s) > 1]
    if spread is None and len(parts) < 2:
        return None
    whole = sum(part for part, _ in parts) if spread is None else spread**2
    uncertain = sum(part**2 / free for part, free in parts)
    freedom = whole**2 / uncertain if uncertain else math.inf
    return _around(fmean(first) - fmean(second), whole, freedom)


def _around(mean: float, variance_of_mean: float, freedom: float) -> Interval:
    from scipy import stats  # takes its time

    reach = float(stats.t.ppf((1 + CONFIDENCE) / 2, freedom)) * math.sqrt(variance_of_mean)
    return mean - reach, mean + reach
