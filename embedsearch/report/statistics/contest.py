"""Who is better than whom, by what is known of each: its seeds, and its similarities of pairs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embedsearch.report.statistics.bootstrap import (
    Floats,
    centred_ranks,
    draw_counts,
    draw_seed_weights,
    spearman_of_ranks,
)
from embedsearch.report.statistics.interval import difference_interval

RESAMPLES = 2000
_AT_ONCE = 100_000
"""Numbers in a part of a table of resamples: what a processor has at hand."""

BOOTSTRAP = "paired bootstrap"
WELCH = "t-interval over seeds"
RESAMPLED = (
    f"{BOOTSTRAP}: {RESAMPLES:,} resamples, each of the dev pairs (with replacement, the same "
    "pairs for all) and of each one's seeds (one fewer than it has, with replacement); the "
    "difference's spread over them, times Student's t for so few seeds; no correction for several "
    "comparisons"
)


@dataclass(frozen=True)
class Contestant:
    """One to be compared: its dev score under each seed, and what they were computed from."""

    name: str
    scores: Sequence[float]
    similarities: Sequence[Sequence[float]] = ()
    """(seeds, pairs): of each dev pair, in the order of the gold scores; empty where not known."""
    needs_no_seeds: bool = False
    """Whether every seed gives the same score, so that one is enough."""

    @property
    def mean(self) -> float:
        return fmean(self.scores)

    def is_known(self, pairs: int) -> bool:
        """Whether every seed has a similarity for each of the ``pairs``."""
        return [len(seed) for seed in self.similarities] == [pairs] * len(self.scores)


@dataclass(frozen=True)
class Difference:
    """Of two means; low and high are None where it can't be told how sure it is."""

    first: str
    second: str
    value: float
    low: float | None
    high: float | None
    by: str
    """How the interval came about, or why there is none."""

    @property
    def verdict(self) -> str:
        """The first against the second: ``better``, ``worse`` or ``not told apart``."""
        if self.low is None or self.high is None or self.low <= 0 <= self.high:
            return "not told apart"
        return "better" if self.low > 0 else "worse"

    def to_json(self) -> dict[str, Any]:
        return {
            "first": self.first,
            "second": self.second,
            "difference": self.value,
            "low": self.low,
            "high": self.high,
            "by": self.by,
            "verdict": self.verdict,
        }


class Contest:
    """Compares any two of several; the same resamples of pairs serve all of them."""

    def __init__(
        self, contestants: Sequence[Contestant], gold: NDArray[np.float64] | None, seed: int = 0
    ) -> None:
        """``gold`` (pairs,): None where it is not known, so that only seeds tell."""
        self._means: Mapping[str, Floats] = {}
        if gold is not None:
            known = [one for one in contestants if one.is_known(len(gold))]
            self._means = _resampled_means(known, gold, np.random.default_rng(seed))

    def difference(self, first: Contestant, second: Contestant) -> Difference:
        """``first`` less ``second``."""
        value = first.mean - second.mean
        named = first.name, second.name, value
        for one in (first, second):
            if len(one.scores) == 1 and not one.needs_no_seeds:
                return Difference(*named, None, None, f"{one.name} has one seed")
        spread, by = None, WELCH
        if first.name in self._means and second.name in self._means:
            resampled = self._means[first.name] - self._means[second.name]
            spread, by = float(np.nanstd(resampled)), BOOTSTRAP
        interval = difference_interval(first.scores, second.scores, spread)
        if interval is None:
            return Difference(*named, None, None, "no similarities and one seed")
        return Difference(*named, *interval, by)


def _resampled_means(
    contestants: Sequence[Contestant], gold: Floats, random: np.random.Generator
) -> dict[str, Floats]:
    """(RESAMPLES,) for each: the mean over its resampled seeds of Spearman over resampled pairs."""
    weights = {
        one.name: draw_seed_weights(len(one.scores), RESAMPLES, random) for one in contestants
    }
    means: dict[str, list[Floats]] = {one.name: [] for one in contestants}
    at_once = max(1, _AT_ONCE // len(gold))
    for start in range(0, RESAMPLES, at_once):
        rows = slice(start, min(start + at_once, RESAMPLES))
        counts = draw_counts(len(gold), rows.stop - start, random)
        of_gold = centred_ranks(gold, counts)
        for one in contestants:
            scores = [
                spearman_of_ranks(centred_ranks(np.array(seed), counts), of_gold, counts)
                for seed in one.similarities
            ]
            means[one.name].append((weights[one.name][:, rows] * scores).sum(0))
    return {name: np.concatenate(parts) for name, parts in means.items() if parts}
