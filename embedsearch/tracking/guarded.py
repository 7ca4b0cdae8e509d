"""What befalls a store in the midst of a sweep, said in one sentence."""

from __future__ import annotations

from collections.abc import Mapping

from embedsearch.records import Measurement, Observer, Sweep, TrialResult, TrialSpec
from embedsearch.tracking.store import Store


class Guarded:
    """An ``Observer`` that passes all on to one that writes ``store``.

    Raises ``UserError`` where that can't: the disk is full, or the server is gone. What it wrote
    before stays, and the same command goes on from there.
    """

    def __init__(self, store: Store, observer: Observer) -> None:
        self._store, self._observer = store, observer

    def sweep_started(self, sweep: Sweep, reused: Mapping[str, TrialResult]) -> None:
        with self._store.explained("write"):
            self._observer.sweep_started(sweep, reused)

    def trial_started(self, spec: TrialSpec) -> None:
        with self._store.explained("write"):
            self._observer.trial_started(spec)

    def measured(self, spec: TrialSpec, measurement: Measurement) -> None:
        with self._store.explained("write"):
            self._observer.measured(spec, measurement)

    def trial_ended(self, spec: TrialSpec, result: TrialResult) -> None:
        with self._store.explained("write"):
            self._observer.trial_ended(spec, result)

    def sweep_ended(self, sweep: Sweep, results: Mapping[str, TrialResult]) -> None:
        with self._store.explained("write"):
            self._observer.sweep_ended(sweep, results)
