"""What a sweep says when it ends, to a reader and to a program."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from embedsearch.labels import assigned, count, labels
from embedsearch.records import Status, Sweep, TrialResult, TrialSpec
from embedsearch.report.rungs import DEV, Agreement, agreements

Results = Mapping[str, TrialResult]


@dataclass(frozen=True)
class Summary:
    """A sweep's end: its trials by rank, and what went wrong."""

    sweep: Sweep
    results: Results
    rungs: tuple[int, ...] = ()
    """Steps at which a rule compared trials, to stop some."""
    curves: Mapping[str, Mapping[int, float]] = field(default_factory=dict)
    """Of trials whose results have none, for they ran before."""
    then: str = ""
    """The grid that the same command goes on with, around the best of this one."""

    @property
    def ranked(self) -> list[tuple[TrialSpec, TrialResult]]:
        """Finished trials with a score, the best first, equals in the order of the grid."""
        pairs = [(s, self.results[s.id]) for s in self.sweep.specs if s.id in self.results]
        scored = [
            p for p in pairs if p[1].status is Status.FINISHED and p[1].best_score is not None
        ]
        return sorted(scored, key=lambda pair: -(pair[1].best_score or 0.0))

    @property
    def missing(self) -> int:
        """Trials that were stopped or never started."""
        return len(self.sweep.specs) - len(self.results)

    @property
    def failures(self) -> Counter[str]:
        """How many trials failed, by status and reason; each cause once."""
        ended_well = (Status.FINISHED, Status.STOPPED)
        failed = [r for r in self.results.values() if r.status not in ended_well]
        return Counter(f"{result.status}: {result.reason}" for result in failed)

    @property
    def ties(self) -> list[TrialSpec]:
        """Trials whose score prints the same as the best's, the best included; empty if alone."""
        ranked = self.ranked
        same = [s for s, r in ranked if _score(r) == _score(ranked[0][1])]
        return same if len(same) > 1 else []

    @property
    def trained(self) -> bool:
        return any(spec.total_steps for spec in self.sweep.specs)

    @property
    def beats_untrained(self) -> bool:
        """Whether the best trial ends above where it began."""
        best = self.ranked[0][1]
        return (best.best_score or 0.0) > (best.start_score or 0.0)

    @property
    def ended(self) -> str:
        """Why it is at its end though trials may be left; empty where it isn't."""
        return str(self.sweep.notes.get("ended", ""))

    @property
    def stopped(self) -> int:
        """Trials that a rule stopped early."""
        return sum(result.status is Status.STOPPED for result in self.results.values())

    @property
    def agreement(self) -> list[Agreement]:
        """How far each rung ranked the trials as the next did, and the last as their ends."""
        curves = dict(self.curves) | {
            key: {m.step: m.metrics[DEV] for m in result.history if DEV in m.metrics}
            for key, result in self.results.items()
            if result.history
        }
        return agreements(curves, self.rungs)

    def exit_code(self) -> int:
        """130 when it was stopped, 1 when no trial has a score, else 0."""
        if self.missing and not self.ended:
            return 130
        return 0 if self.ranked else 1

    def to_json(self, checkpoints: Mapping[str, str]) -> dict[str, Any]:
        """The same as ``lines``, for a program."""
        ranked = self.ranked
        return {
            "method": self.sweep.method,
            "grid": self.sweep.grid,
            "preset": self.sweep.preset,
            "notes": dict(self.sweep.notes),
            "trials": len(self.sweep.specs),
            "not_run": self.missing,
            "stopped_early": self.stopped,
            "rungs": [asdict(each) for each in self.agreement],
            "failures": dict(self.failures),
            "beats_untrained": self.beats_untrained if ranked and self.trained else None,
            "ties": [spec.id for spec in self.ties],
            "best": _as_json(*ranked[0], checkpoints) if ranked else None,
            "ranked": [_as_json(spec, result, checkpoints) for spec, result in ranked],
        }

    def lines(self, checkpoints: Mapping[str, str], top: int = 5) -> list[str]:
        """The end of a sweep in words; ``checkpoints`` by spec id, where the store keeps one."""
        ranked = self.ranked
        out = [*self._said_of_failures()]
        if not ranked:
            return [*out, "No trial has a score, so there is no best."]
        names = self._names()
        spec, best = ranked[0]
        which = f" with {names[spec.id]}" if len(names) > 1 else ""
        out.append(f"Best of {len(ranked)}: {_score(best)}{which}")
        out.append(f"Untrained: {_score(best, start=True)}")
        if spec.id in checkpoints:
            out.append(f"Checkpoint: {checkpoints[spec.id]}")
        out += [f"  {_score(result)}  {names[s.id]}" for s, result in ranked[1:top]]
        return [
            *out,
            *self._said_of_ties(names),
            *([] if self.missing and not self.ended else self._next()),
        ]

    def _names(self) -> dict[str, str]:
        axes = self.sweep.axes
        if not axes:
            return labels(self.sweep.specs)
        return {spec.id: assigned(spec.point.values, axes) for spec in self.sweep.specs}

    def _said_of_failures(self) -> list[str]:
        out = [f"{many} failed: {reason}" for reason, many in self.failures.most_common()]
        if self.stopped:
            out.append(f"{self.stopped} of {len(self.results)} stopped early")
            out += [str(each) for each in self.agreement]
        if self.ended:
            cut = f", {count(self.missing, 'trial')} cut off or not begun" if self.missing else ""
            out.append(f"Ended: {self.ended}{cut}; a larger one goes on from here.")
        elif self.missing:
            out.append(
                f"Stopped: {self.missing} of {count(len(self.sweep.specs), 'trial')} left; give "
                "the same command again to go on."
            )
        return out

    def _said_of_ties(self, names: Mapping[str, str]) -> list[str]:
        if not self.ties:
            return []
        same = "; ".join(names[spec.id] for spec in self.ties[:4])
        more = f" and {len(self.ties) - 4} more" if len(self.ties) > 4 else ""
        return [f"A tie between {len(self.ties)}: {same}{more}"]

    def _next(self) -> list[str]:
        method, grid = self.sweep.method, self.sweep.grid
        if self.then:
            return [f"Going on with {self.then}, around the best"]
        if not self.trained:
            return [f"Next: embedsearch best --method {method}"]
        if not self.beats_untrained:
            hint = (
                f"python -m embedsearch.sweep {method} --grid log"
                if grid in ("coarse", "fine")
                else ""
            )
            try_it = f"; try {hint}" if hint else ""
            return [f"No trial beats the untrained score{try_it}"]
        after = {"coarse": f"python -m embedsearch.sweep {method} --grid fine"}
        return [f"Next: {after.get(grid, f'embedsearch best --method {method}')}"]


def _score(result: TrialResult, start: bool = False) -> str:
    value = result.start_score if start else result.best_score
    return "none" if value is None else f"{value:.2f}"


def _as_json(
    spec: TrialSpec, result: TrialResult, checkpoints: Mapping[str, str]
) -> dict[str, Any]:
    return {
        "spec_id": spec.id,
        "values": dict(spec.point.values),
        "seed": spec.seed,
        "score": result.best_score,
        "step": result.best_step,
        "untrained": result.start_score,
        "seconds": result.seconds,
        "checkpoint": checkpoints.get(spec.id),
    }
