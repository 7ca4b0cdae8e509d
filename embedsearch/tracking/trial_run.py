"""The run of one trial while this process writes it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path

from embedsearch.durable import whole_folder
from embedsearch.records import Measurement, Status, TrialResult, TrialSpec
from embedsearch.tracking import runs
from embedsearch.tracking.artifacts import CHECKPOINT_FOLDER, SIMILARITIES, Artifacts
from embedsearch.tracking.names import to_name, to_text
from embedsearch.tracking.store import Store
from embedsearch.tracking.stored import StoredRun

_FLUSH_S = 2.0


class TrialRun:
    """Writes in batches, and no step twice: what the run holds already stays as it is."""

    def __init__(self, store: Store, run: StoredRun, spec: TrialSpec) -> None:
        self._store, self._id = store, run.run_id
        self._artifacts = Artifacts(store, run)
        self._held = {
            (metric.key, metric.step): metric.value
            for name in run.metrics
            for metric in store.client.get_metric_history(self._id, name)
        }
        self._waiting: list[tuple[str, float, int]] = []
        self._written = time.monotonic()
        self._describe(spec, run.params)

    def _describe(self, spec: TrialSpec, known: Mapping[str, str]) -> None:
        """The params last, so that a run that has them has its files too."""
        missing = {k: text for k, text in runs.trial_params(spec).items() if k not in known}
        if missing:
            self._artifacts.put_json("spec.json", spec.to_json())
            self._artifacts.put_json("environment.json", runs.environment())
            self._store.log(self._id, params=missing)

    def measured(self, measurement: Measurement) -> None:
        self._add(measurement)
        if time.monotonic() - self._written > _FLUSH_S:
            self._write()

    def ended(self, result: TrialResult, tags: Mapping[str, str] | None = None) -> bool:
        """Write the whole result, and ``tags``; True when that includes a checkpoint.

        The status comes last: a trial that has one is complete in the store.
        """
        for measurement in result.history:
            self._add(measurement)
        numbers = runs.summary(result)
        self._add_number(runs.START, numbers.pop(runs.START, None), 0)
        attempt = self._attempt(numbers)
        for name, value in numbers.items():
            self._add_number(name, value, attempt)
        folder = whole_folder(Path(result.checkpoint)) if result.checkpoint else None
        if folder:
            self._artifacts.put_folder(CHECKPOINT_FOLDER, folder)
        if result.similarities:
            self._artifacts.put_json(SIMILARITIES, result.similarities)
        self._write()
        kept = {runs.CHECKPOINT: runs.KEPT} if folder else {}
        self._close(result.status, result.reason, {**kept, **(tags or {})})
        return folder is not None

    def interrupted(self) -> None:
        self._write()
        self._close(Status.INTERRUPTED, "the sweep ended before the trial did", {})

    def _close(self, status: Status, reason: str, tags: dict[str, str]) -> None:
        tags = {**tags, runs.REASON: to_text(reason), runs.STATUS: str(status)}
        self._store.log(self._id, tags=tags)
        self._store.client.set_terminated(self._id, runs.mlflow_status(status))

    def _add(self, measurement: Measurement) -> None:
        for name, value in runs.finite(measurement.metrics).items():
            self._add_number(to_name(name), value, measurement.step)
            if name == runs.DEV and measurement.step == 0:
                self._add_number(runs.START, value, 0)

    def _attempt(self, numbers: Mapping[str, float]) -> int:
        """How often the trial was tried before this result, which may be half recorded already."""
        last = max((step for name, step in self._held if name == runs.SECONDS), default=-1)
        same = all(self._held.get((name, last)) == value for name, value in numbers.items())
        return last if same else last + 1

    def _add_number(self, name: str, value: float | None, step: int) -> None:
        if value is not None and (name, step) not in self._held:
            self._held[name, step] = value
            self._waiting.append((name, value, step))

    def _write(self) -> None:
        self._store.log(self._id, metrics=self._waiting)
        self._waiting = []
        self._written = time.monotonic()
