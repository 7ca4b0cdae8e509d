"""How sure a search's leaders are, once they ran again under fresh seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Any

from numpy.typing import NDArray

from embedsearch.labels import assigned, differing
from embedsearch.records import Scalar, Status, TrialResult, TrialSpec
from embedsearch.report.statistics.contest import RESAMPLED, Contest, Contestant
from embedsearch.report.statistics.interval import mean_interval


@dataclass(frozen=True)
class Candidate:
    """A leader: its values, what the search saw of it, and its trials under fresh seeds."""

    values: Mapping[str, Scalar]
    search_score: float
    """The best of its seeds in the search."""
    specs: tuple[TrialSpec, ...]

    @property
    def seeds(self) -> list[int]:
        return [spec.seed for spec in self.specs]


@dataclass(frozen=True)
class Confirmation:
    """The leaders, and what became of their trials."""

    method: str
    group: str
    setting: str
    """What all the trials share, in a line."""
    points: int
    """That the search had."""
    candidates: Sequence[Candidate]
    results: Mapping[str, TrialResult]
    similarities: Mapping[str, Sequence[float]]
    """Of the dev pairs, by spec id."""
    gold: NDArray[Any]

    def exit_code(self) -> int:
        """130 when it was stopped, 1 when no trial has a score, else 0."""
        specs = [spec for candidate in self.candidates for spec in candidate.specs]
        if any(spec.id not in self.results for spec in specs):
            return 130
        return 0 if any(self._finished(candidate) for candidate in self.candidates) else 1

    def to_json(self) -> dict[str, Any]:
        """All of it, for a program, the points by their means; a number that isn't is null."""
        varying = differing([candidate.values for candidate in self.candidates])
        rows = [self._row(candidate, varying) for candidate in self.candidates]
        rows.sort(key=lambda row: (row["mean"] is None, -(row["mean"] or 0)))
        self._compare(rows)
        return {
            "method": self.method,
            "group": self.group,
            "setting": self.setting,
            "of_points": self.points,
            "resampled": RESAMPLED,
            "points": rows,
            "tied": [row["name"] for row in rows if row["verdict"] in ("best", "tied")],
        }

    def _row(self, candidate: Candidate, varying: Sequence[str]) -> dict[str, Any]:
        found = [(s.seed, self.results[s.id]) for s in candidate.specs if s.id in self.results]
        fresh = self._finished(candidate)
        scores = [score for _, score in fresh]
        low, high = mean_interval(scores) or (None, None)
        return {
            "name": assigned(candidate.values, varying) or self.method,
            "values": dict(candidate.values),
            "search_score": candidate.search_score,
            "mean": fmean(scores) if scores else None,
            "sd": stdev(scores) if len(scores) > 1 else None,
            "low": low,
            "high": high,
            "seeds": [spec.seed for spec, _ in fresh],
            "scores": scores,
            "spec_ids": [spec.id for spec, _ in fresh],
            "failed": [
                f"{result.status}: {result.reason} (seed {seed})"
                for seed, result in found
                if result.status is not Status.FINISHED
            ],
            "not_run": len(candidate.specs) - len(found),
            "difference": None,
            "verdict": None,
        }

    def _compare(self, rows: Sequence[dict[str, Any]]) -> None:
        """Each against the first, the best."""
        scored = [row for row in rows if row["scores"]]
        contestants = [
            Contestant(
                row["name"],
                row["scores"],
                [self.similarities[i] for i in row["spec_ids"] if i in self.similarities],
            )
            for row in scored
        ]
        contest = Contest(contestants, self.gold)
        for row, contestant in zip(scored, contestants, strict=True):
            if contestant is contestants[0]:
                row["verdict"] = "best"
                continue
            difference = contest.difference(contestant, contestants[0])
            row["difference"] = difference.to_json()
            row["verdict"] = "worse" if difference.verdict == "worse" else "tied"

    def _finished(self, candidate: Candidate) -> list[tuple[TrialSpec, float]]:
        """Those of its trials that have a score, with that."""
        found = [(s, self.results[s.id]) for s in candidate.specs if s.id in self.results]
        return [
            (spec, result.best_score)
            for spec, result in found
            if result.status is Status.FINISHED and result.best_score is not None
        ]
