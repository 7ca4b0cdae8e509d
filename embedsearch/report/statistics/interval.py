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


def difference_interval(first: Sequence[float], second: Sequence[float]) -> Interval | None:
    """Where the difference of two means over seeds lies (Welch: the spreads need not be the same);
    None where either has fewer than two seeds.
    """
    if min(len(first), len(second)) < 2:
        return None
    parts = [(variance(scores) / len(scores), len(scores) - 1) for scores in (first, second)]
    whole = sum(part for part, _ in parts)
    freedom = whole**2 / sum(part**2 / free for part, free in parts) if whole else 1.0
    return _around(fmean(first) - fmean(second), whole, freedom)


def _around(mean: float, variance_of_mean: float, freedom: float) -> Interval:
    from scipy import stats  # takes its time

    reach = float(stats.t.ppf((1 + CONFIDENCE) / 2, freedom)) * math.sqrt(variance_of_mean)
    return mean - reach, mean + reach
