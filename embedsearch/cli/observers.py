"""Several observers as one, and one that ends a sweep."""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping

from embedsearch import remains
from embedsearch.errors import UserError
from embedsearch.objects import REFUSED
from embedsearch.place import Place
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


class Fetching(Everyone):
    """Tells of a trial that it ended when its checkpoint is on this machine."""

    def __init__(self, place: Place, *observers: Observer) -> None:
        super().__init__(*observers)
        self.place = place

    def trial_ended(self, spec: TrialSpec, result: TrialResult) -> None:
        super().trial_ended(spec, remains.at_hand(self.place, result))


class UntilFull(Everyone):
    """Raises ``UserError``, when all are told, at a trial that failed for want of room, or of the
    bucket.

    Those after it would fail likewise; what runs then goes on from its state at the next command.
    """

    def trial_ended(self, spec: TrialSpec, result: TrialResult) -> None:
        super().trial_ended(spec, result)
        if any(text in result.reason for text in _NO_ROOM):
            raise UserError(
                "a disk is full, so the sweep ends here, with all that is finished kept: "
                f"{result.reason}; make room, and give the same command again to go on"
            )
        if REFUSED in result.reason:
            raise UserError(f"the sweep ends here, with all that is finished kept: {result.reason}")


_NO_ROOM = (os.strerror(errno.ENOSPC), os.strerror(errno.EDQUOT))
