"""Remembers sweeps: what they held, what they cost, and what was noted of them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace

from embedsearch.records import Scalar, Spent, Status, Sweep
from embedsearch.tracking import runs
from embedsearch.tracking.artifacts import Artifacts
from embedsearch.tracking.store import Store
from embedsearch.tracking.stored import StoredRun

_OPEN = (runs.RUNNING, Status.INTERRUPTED)
"""Of trials that did not come to an end."""


class Sweeps:
    """The sweeps of a store."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def members(self, sweep: Sweep) -> tuple[list[str], Spent]:
        """The ids of the specs that a sweep has tried, in their order, and what it has cost: the
        trials it brought to an end, and the time as last written down.
        """
        ids: dict[str, None] = {}
        spent, ended = Spent(), 0
        for run in reversed(self._store.search(sweep.method, kind="sweep", sweep_id=sweep.id)):
            ids |= dict.fromkeys(self._specs(run))
            spent = max(spent, runs.to_spent(run), key=lambda spent: spent.device_seconds)
            held = self._store.search(sweep.method, kind="trial", holder=run.run_id)
            ended += sum(trial.tags[runs.STATUS] not in _OPEN for trial in held)
        return list(ids), replace(spent, trials=ended)

    def unfinished(self, method: str, grid: str) -> list[Mapping[str, Scalar]]:
        """The notes of the sweeps of a grid that did not reach their end, the latest first."""
        found = self._store.search(method, kind="sweep", grid=grid)
        return [_notes(run) for run in found if run.status != "FINISHED"]

    def notes(self, method: str, grid: str) -> dict[str, Mapping[str, Scalar]]:
        """Those of each sweep of a grid, by its id, the latest first."""
        found = self._store.search(method, kind="sweep", grid=grid)
        return {run.tags[runs.SWEEP_ID]: _notes(run) for run in found}

    def earlier(self, method: str, grid: str, setting: str) -> frozenset[str]:
        """The spec ids of all sweeps of a grid whose notes name the same ``setting``."""
        found = self._store.search(method, kind="sweep", grid=grid)
        same = [run for run in found if _notes(run).get("setting") == setting]
        return frozenset(spec_id for run in same for spec_id in self._specs(run))

    def _specs(self, run: StoredRun) -> list[str]:
        """Empty where it was killed before they were written."""
        with suppress(OSError, ValueError):
            specs: list[str] = Artifacts(self._store, run).get_json("sweep.json")["specs"]
            return specs
        return []


def _notes(run: StoredRun) -> dict[str, Scalar]:
    notes: dict[str, Scalar] = json.loads(run.tags[runs.NOTES])
    return notes
