"""An experiment's table: what each row scores, beside the baseline and what the paper prints."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Any

from embedsearch.labels import assigned, differing
from embedsearch.records import Scalar, Status, TrialResult, TrialSpec

TIE = 0.005
"""Scores closer than this are printed the same."""


@dataclass(frozen=True)
class Line:
    """A row at one point, under every seed."""

    label: str
    method: str
    values: Mapping[str, Scalar]
    """Of the point; empty where there is none."""
    specs: tuple[TrialSpec, ...]
    """A seed each; empty where it can't run here."""
    printed: Mapping[str, float]
    reason: str = ""
    """Why it can't run here."""


@dataclass(frozen=True)
class Comparison:
    """The lines of an experiment and what became of their trials."""

    title: Mapping[str, Any]
    """What the file says of itself: ``experiment``, ``about``, ``paper``, ``table``, ``figures``
    (protocol by printed figure) and ``notes``; and what it was run on."""
    setting: str
    """What all its trials share, in a line."""
    baseline: str
    lines: Sequence[Line]
    results: Mapping[str, TrialResult]

    def exit_code(self) -> int:
        """130 when it was stopped, 1 when no trial has a score, else 0."""
        specs = [spec for line in self.lines for spec in line.specs]
        if any(spec.id not in self.results for spec in specs):
            return 130
        return 0 if any(self._scores(line) for line in self.lines) else 1

    def to_json(self) -> dict[str, Any]:
        """All of it, for a program; a number that does not exist is null."""
        rows = [self._row(*named) for named in _named(self.lines)]
        base = next((row for row in rows if row["label"] == self.baseline), None)
        for row in rows:
            row.update(_difference(row, base))
        return {**self.title, "setting": self.setting, "baseline": self.baseline, "rows": rows}

    def _row(self, line: Line, varies: Mapping[str, Scalar], name: str) -> dict[str, Any]:
        scores = self._scores(line)
        found = [(s.seed, self.results[s.id]) for s in line.specs if s.id in self.results]
        starts = [r.start_score for _, r in found if r.start_score is not None]
        return {
            "label": line.label,
            "name": name,
            "method": line.method,
            "varies": dict(varies),
            "values": dict(line.values),
            "seeds": [spec.seed for spec in line.specs],
            "spec_ids": [spec.id for spec in line.specs],
            "steps": max((spec.total_steps for spec in line.specs), default=None),
            "scores": scores,
            "score": fmean(scores) if scores else None,
            "sd": stdev(scores) if len(scores) > 1 else None,
            "untrained": fmean(starts) if starts else None,
            "printed": dict(line.printed),
            "missing": line.reason or None,
            "failed": [
                f"{result.status}: {result.reason} (seed {seed})"
                for seed, result in found
                if result.status is not Status.FINISHED
            ],
            "not_run": len(line.specs) - len(found),
        }

    def _scores(self, line: Line) -> list[float]:
        found = [self.results[spec.id] for spec in line.specs if spec.id in self.results]
        return [
            result.best_score
            for result in found
            if result.status is Status.FINISHED and result.best_score is not None
        ]


def names(lines: Sequence[Line]) -> dict[str, str]:
    """What the trials of an experiment are called, by spec id."""
    return {
        spec.id: f"{name} seed={spec.seed}" if len(line.specs) > 1 else name
        for line, _, name in _named(lines)
        for spec in line.specs
    }


def _named(lines: Sequence[Line]) -> Iterator[tuple[Line, Mapping[str, Scalar], str]]:
    """Each line, the values in which it differs from others of its method, and its own name."""
    for line in lines:
        varies = _varying(line, [each for each in lines if each.method == line.method])
        own = _varying(line, [each for each in lines if each.label == line.label])
        yield line, varies, f"{line.label} ({assigned(own, list(own))})" if own else line.label


def _varying(line: Line, others: Sequence[Line]) -> dict[str, Scalar]:
    """What ``line`` has where ``others``, itself included, are not all the same."""
    names = differing([other.values for other in others if other.values])
    return {name: line.values[name] for name in names if line.values.get(name) is not None}


def _difference(row: Mapping[str, Any], base: Mapping[str, Any] | None) -> dict[str, Any]:
    """To the baseline's score; ``tie`` where it is less than the seeds' spread of either."""
    if base is None or base is row or None in (row["score"], base["score"]):
        return {"difference": None, "tie": None}
    difference = row["score"] - base["score"]
    spread = max(row["sd"] or 0.0, base["sd"] or 0.0, TIE)
    return {"difference": difference, "tie": abs(difference) < spread}
