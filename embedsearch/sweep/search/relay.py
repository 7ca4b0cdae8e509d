"""What Ray tells of its trials, turned into what an observer is told of ours."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from embedsearch.place import Place
from embedsearch.records import Measurement, Observer, Status, TrialResult, TrialSpec
from embedsearch.sweep.budget import Meter
from embedsearch.sweep.search.proposals import Proposals
from embedsearch.sweep.search.stopping import SCORE, Curves, Stopping, best_so_far

P = ParamSpec("P")
T = TypeVar("T")

RETRIES = 3
"""How often a trial is started again whose worker or node died; it goes on from its checkpoint."""


class Relay:
    """Tells an observer, counts the cost, and keeps what became of each trial."""

    def __init__(
        self,
        observer: Observer,
        meter: Meter,
        place: Place,
        work: Sequence[TrialSpec] | Proposals,
    ) -> None:
        self.observer, self.meter, self.place = observer, meter, place
        self.proposals = work if isinstance(work, Proposals) else None
        self.specs = work.specs if isinstance(work, Proposals) else {s.id: s for s in work}
        self.begun: set[str] = set()
        self.results: dict[str, TrialResult] = {}
        """In brief: the observer was told the whole of them."""
        self.until: int | None = None
        self.curves: dict[str, dict[int, Measurement]] = {}
        """Of those that are not at their end."""
        self.waiting: dict[str, float] = {}
        """The scores of those that wait at the step ``until``."""
        self.held: dict[str, float] = {}
        """Device-seconds."""
        self.failure: Exception | None = None
        """The first error of our own code that Tune was to call, and makes another of."""

    @property
    def unfinished(self) -> bool:
        """Whether a trial is neither at its end nor at the step ``until``."""
        ours = self.begun if self.proposals else self.specs  # proposals know earlier ones too
        return any(key not in self.results and key not in self.waiting for key in ours)

    def ours(self, method: Callable[P, T]) -> Callable[P, T]:
        """``method``, for Tune to call, with what it raises kept as the ``failure``."""

        @wraps(method)
        def call(*args: P.args, **kwargs: P.kwargs) -> T:
            try:
                return method(*args, **kwargs)
            except Exception as error:
                self.failure = self.failure or error
                raise

        return call

    def started(self, spec_id: str) -> None:
        self.meter.begin(spec_id)
        self.begun.add(spec_id)
        self.waiting.pop(spec_id, None)
        self.observer.trial_started(self.specs[spec_id])

    def reported(self, spec_id: str, report: Mapping[str, Any]) -> None:
        if report["metrics"]:
            measurement = Measurement(report["step"], report["metrics"])
            self.curves.setdefault(spec_id, {})[measurement.step] = measurement
            self.observer.measured(self.specs[spec_id], measurement)
        if "result" in report:
            self._ended(TrialResult.from_json(report["result"]))
        elif self.is_at_rung(report):
            self.waiting[spec_id] = report[SCORE]

    def is_at_rung(self, report: Mapping[str, Any]) -> bool:
        """Whether a trial of whom this is told is to wait there for the others."""
        return self.until is not None and report["step"] >= self.until and "result" not in report

    def left(self, spec_id: str) -> None:
        """It holds its devices no more: at its end, at a rung, or stopped by a scheduler."""
        self.held[spec_id] = self.held.get(spec_id, 0.0) + self.meter.end(spec_id)
        if spec_id not in self.results and spec_id not in self.waiting:
            self._stopped(spec_id, "behind the others")

    def died(self, spec_id: str) -> None:
        """Its worker was lost more often than it is started again."""
        self.held[spec_id] = self.held.get(spec_id, 0.0) + self.meter.end(spec_id)
        if spec_id not in self.results:
            reason = f"its worker died {RETRIES + 1} times (out of memory, or the node was lost)"
            self._ended(TrialResult(spec_id, Status.FAILED, reason))

    def choose(self, stopping: Stopping, before: Curves) -> list[TrialSpec]:
        """The best of those that wait, and of ``before``; the others are stopped."""
        step = stopping.rungs[0]
        scores = {key: best_so_far(c)[step] for key, c in before.items() if step in c}
        ranked = sorted({**scores, **self.waiting}.items(), key=lambda item: -item[1])
        best = {key for key, _ in ranked[: stopping.keeps]}
        for spec_id in [key for key in self.waiting if key not in best]:
            self._stopped(spec_id, f"not among the best {stopping.keeps}")
        return [self.specs[key] for key in self.waiting if key in best]

    def _stopped(self, spec_id: str, why: str) -> None:
        """It leaves nothing to go on from: a sweep that wants all of it begins it anew."""
        self.place.drop(spec_id, "state")
        curve = self.curves.get(spec_id, {})
        step = max(curve, default=0)
        score = curve[step].metrics.get("dev/spearman") if curve else None
        with_score = "" if score is None else f" with {score:.2f}"
        seconds = self.held.get(spec_id, 0.0)
        self._ended(
            TrialResult(
                spec_id,
                Status.STOPPED,
                f"at step {step}{with_score}, {why}",
                history=tuple(curve.values()),
                seconds=seconds / (self.meter.devices or 1),
                device_seconds=seconds,
            )
        )

    def _ended(self, result: TrialResult) -> None:
        self.waiting.pop(result.spec_id, None)
        self.curves.pop(result.spec_id, None)
        self.results[result.spec_id] = result.brief
        self.meter.count(result.spec_id)
        self.observer.trial_ended(self.specs[result.spec_id], result)
