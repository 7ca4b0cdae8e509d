"""What a search of so many trials finds: its expected best score, and how far that varies.

Dodge et al. (2019) draw trials with replacement, which is biased: it may draw the same trial twice.
Tang et al. (2020, arXiv 2004.13705) show it, and take the mean over all subsets of k out of the n
trials, which is unbiased. With the scores sorted, x_(1) <= ... <= x_(n), the i-th is the highest of
C(i - 1, k - 1) of the C(n, k) subsets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

BAND = (0.05, 0.95)
"""The band holds the best score of nine subsets in ten, exactly: no resampling."""
_SHOWN = 100


@dataclass(frozen=True)
class Best:
    """The best of ``trials`` trials."""

    trials: int
    expected: float
    low: float
    high: float


def expected_best(scores: Sequence[float], trials: int) -> Best:
    """The best of ``trials`` of ``scores`` drawn without replacement: its mean over all subsets
    (the unbiased estimator) and the quantiles ``BAND`` of its exact distribution over them.

    The band is of the scores at hand: of all of them the best is certain, and it has no width.
    Raises ``ValueError`` where there are fewer scores than ``trials``, or none is asked for.
    """
    if not 1 <= trials <= len(scores):
        raise ValueError(f"the best of {trials} out of {len(scores)} scores")
    ordered = np.sort(np.asarray(scores, dtype=np.float64))
    chances = _chances(len(ordered), trials)
    reached = np.cumsum(chances)
    places = [min(int(np.searchsorted(reached, q)), len(ordered) - 1) for q in BAND]
    low, high = ordered[places]
    return Best(trials, float(chances @ ordered), float(low), float(high))


def curve(scores: Sequence[float]) -> list[Best]:
    """For 1 to all trials; at most a hundred numbers of them, evenly spaced by their logarithms."""
    numbers = np.geomspace(1, max(1, len(scores)), _SHOWN).round().astype(int)
    return [expected_best(scores, int(k)) for k in np.unique(numbers)] if scores else []


def _chances(scores: int, trials: int) -> NDArray[np.float64]:
    """(scores,): how often the i-th lowest is the best of a subset, C(i-1, k-1) / C(n, k)."""
    from scipy.special import gammaln

    place = np.arange(trials, scores + 1)
    logs = gammaln(place) - gammaln(place - trials + 1)  # of (i-1)! / (i-k)!
    chances = np.zeros(scores)
    chances[trials - 1 :] = np.exp(logs - logs.max())
    shares: NDArray[np.float64] = chances / chances.sum()
    return shares
