"""Several observers as one."""

from __future__ import annotations

from collections.abc import Mapping

from embedsearch.records import Measurement, Observer, Sweep, TrialResult, TrialSpec

Results = Mapping[str, TrialResult]


class ByMethod:
    """Tells each method's observer what is of that method."""

    def __init__(self, observers: Mapping[str, Observer]) -> None:
        self.observers = observers

    def sweep_started(self, sweep: Sweep, reused: Results) -> None:
        self.observers[sweep.method].sweep_started(sweep, reused)

    def trial_started(self, spec: TrialSpec) -> None:
        self.observers[spec.point.method].trial_started(spec)

    def measured(self, spec: TrialSpec, measurement: Measurement) -> None:
        self.observers[spec.point.method].measured(spec, measurement)

    def trial_ended(self, spec: TrialSpec, result: TrialResult) -> None:
        self.observers[spec.point.method].trial_ended(spec, result)

    def sweep_ended(self, sweep: Sweep, results: Results) -> None:
        self.observers[sweep.method].sweep_ended(sweep, results)


class Everyone:
    """Tells several observers, in their order."""

    def __init__(self, *observers: Observer) -> None:
        self.observers = observers

    def sweep_started(self, sweep: Sweep, reused: Results) -> None:
        for observer in self.observers:
            observer.sweep_started(sweep, reused)

    def trial_started(self, spec: TrialSpec) -> None:
        for observer in self.observers:
            observer.trial_started(spec)

    def measured(self, spec: TrialSpec, measurement: Measurement) -> None:
        for observer in self.observers:
            observer.measured(spec, measurement)

    def trial_ended(self, spec: TrialSpec, result: TrialResult) -> None:
        for observer in self.observers:
            observer.trial_ended(spec, result)

    def sweep_ended(self, sweep: Sweep, results: Results) -> None:
        for observer in self.observers:
            observer.sweep_ended(sweep, results)
