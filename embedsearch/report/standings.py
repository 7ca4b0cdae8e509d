"""How methods stand to each other, by what their searches found, cost, and had confirmed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from statistics import fmean, stdev
from typing import Any

from numpy.typing import NDArray

from embedsearch.records import Scalar
from embedsearch.report.statistics.contest import RESAMPLED, Contest, Contestant
from embedsearch.report.statistics.expected_best import BAND, Best, curve, expected_best
from embedsearch.report.statistics.interval import mean_interval


@dataclass(frozen=True)
class Standing:
    """One method within the group it is compared in."""

    method: str
    group: str
    apart: Mapping[str, tuple[Any, Any]]
    """Where that is not the group of the others: what differs, here and there."""
    searched: Sequence[float]
    """The scores of the search's finished trials."""
    unscored: int
    """Trials of the search that have none: failed, stopped or interrupted."""
    device_seconds: float
    """What the whole search cost, those included."""
    values: Mapping[str, Scalar]
    """The best point, in what the search varied."""
    scores: Sequence[float]
    """Of that point: under fresh seeds where it is confirmed, else the search's own."""
    seeds: Sequence[int]
    similarities: Sequence[Sequence[float]]
    confirmed: bool
    trains: bool
    importance: Mapping[str, float]
    why: str = ""
    """Why there is no importance."""

    @property
    def seconds_a_score(self) -> float:
        """What one finished trial costs, its share of those without a score included."""
        return self.device_seconds / len(self.searched)

    def within(self, device_seconds: float) -> Best | None:
        """The expected best for so many device-seconds; None where they buy no trial."""
        bought = self.seconds_a_score and int(device_seconds / self.seconds_a_score + 1e-9)
        return self.of(int(bought)) if bought else None

    def of(self, trials: int) -> Best:
        """The expected best of so many trials, or of all there are."""
        return expected_best(self.searched, min(trials, len(self.searched)))


@dataclass(frozen=True)
class Standings:
    """Several methods, the one with the best mean first."""

    standings: Sequence[Standing]
    left_out: Mapping[str, str]
    """Methods that can't be compared, and why."""
    gold: NDArray[Any] | None

    def to_json(self) -> dict[str, Any]:
        """All of it, for a program; a number that isn't is null."""
        ordered = sorted(self.standings, key=lambda one: -fmean(one.scores))
        budget = self._budget()
        return {
            "budget": budget,
            "band": list(BAND),
            "resampled": RESAMPLED,
            "methods": [_row(one, budget) for one in ordered],
            "pairs": self._pairs(ordered),
            "left_out": dict(self.left_out),
        }

    def _budget(self) -> dict[str, float]:
        """What each of the searches that train had at the least."""
        searches = [one for one in self.standings if one.trains] or self.standings
        return {
            "trials": min(len(one.searched) for one in searches),
            "device_seconds": min(one.device_seconds for one in searches),
        }

    def _pairs(self, ordered: Sequence[Standing]) -> list[dict[str, Any]]:
        """The verdict on each two, the better mean first."""
        contestants = [
            Contestant(one.method, one.scores, one.similarities, needs_no_seeds=not one.trains)
            for one in ordered
        ]
        contest = Contest(contestants, self.gold)
        return [contest.difference(*pair).to_json() for pair in combinations(contestants, 2)]


def _row(one: Standing, budget: Mapping[str, float]) -> dict[str, Any]:
    low, high = mean_interval(one.scores) or (None, None)
    within = one.within(budget["device_seconds"])
    return {
        "method": one.method,
        "group": one.group,
        "apart": {name: list(sides) for name, sides in one.apart.items()},
        "trials": len(one.searched),
        "unscored": one.unscored,
        "device_seconds": one.device_seconds,
        "device_seconds_a_trial": one.seconds_a_score,
        "search_best": max(one.searched),
        "values": dict(one.values),
        "confirmed": one.confirmed,
        "trains": one.trains,
        "mean": fmean(one.scores),
        "sd": stdev(one.scores) if len(one.scores) > 1 else None,
        "low": low,
        "high": high,
        "seeds": list(one.seeds),
        "scores": list(one.scores),
        "at_equal_trials": asdict(one.of(int(budget["trials"]))),
        "at_equal_device_seconds": within and asdict(within),
        "curve": [asdict(best) for best in curve(one.searched)],
        "importance": dict(one.importance) or None,
        "why": {"importance": one.why} if one.why else {},
    }
