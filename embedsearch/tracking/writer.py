"""Records a sweep as it happens: one MLflow run for the sweep, and one under it for each trial."""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Self

from embedsearch.labels import assigned, labels
from embedsearch.records import Measurement, Spent, Status, Sweep, TrialResult, TrialSpec
from embedsearch.tracking import runs
from embedsearch.tracking.artifacts import Artifacts
from embedsearch.tracking.liveness import Claim, is_alive
from embedsearch.tracking.pruning import prune
from embedsearch.tracking.store import Store
from embedsearch.tracking.stored import StoredRun
from embedsearch.tracking.trial_run import TrialRun


class Writer:
    """An ``Observer`` that keeps one sweep at a time in MLflow.

    A sweep, and a trial, has one run, however often it is taken up again; a trial stays under the
    sweep that first ran it. A trial that another living sweep is writing is left to that one.
    """

    def __init__(
        self,
        store: Store,
        *,
        keep: int | None = 5,
        stored: Callable[[TrialSpec], None] = lambda _: None,
        spent: Callable[[], Spent] | None = None,
    ) -> None:
        """``keep``: how many checkpoints of comparable trials stay in the store; None for all.
        While the sweep runs there are up to twice as many, and one.

        ``stored`` is told of each trial whose checkpoint this writer has put into the store;
        ``spent`` says what the sweep has cost so far.
        """
        self._store, self._keep, self._stored = store, keep, stored
        self._origin = _origin()
        self._spent = spent
        self._method = self._experiment = self._run_id = ""
        self._grid = ""
        self._sweep: Sweep | None = None
        self._members: dict[str, list[str]] = {}
        self._names: dict[str, str] = {}
        self._claim: Claim | None = None
        self._trials: dict[str, TrialRun | None] = {}
        self._new_checkpoints = 0
        self._left: list[tuple[TrialSpec, TrialResult]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def sweep_started(self, sweep: Sweep, reused: Mapping[str, TrialResult]) -> None:
        """Raises ``UserError`` where the store can't be written."""
        with self._store.writing():
            self._method = sweep.method
            self._experiment = self._store.experiment(sweep.method)
            mend(self._store, sweep.method)
            run = self._sweep_run(sweep)
            self._run_id, self._grid = run.run_id, sweep.grid
            self._names = labels(sweep.specs)
            self._claim = Claim(self._store, self._run_id)
        self._sweep, self._artifacts = sweep, Artifacts(self._store, run)
        self._members = {"specs": [spec.id for spec in sweep.specs], "reused": sorted(reused)}
        self._write_members()
        if reused:
            self._join_grid(sweep, reused)

    def trial_started(self, spec: TrialSpec) -> None:
        if spec.id not in self._members["specs"]:  # proposed just now
            self._members["specs"].append(spec.id)
            self._write_members()
        self._trials[spec.id] = self._take(spec)

    def measured(self, spec: TrialSpec, measurement: Measurement) -> None:
        trial = self._trials.get(spec.id)
        if trial:
            trial.measured(measurement)

    def trial_ended(self, spec: TrialSpec, result: TrialResult) -> None:
        trial = self._trials.pop(spec.id, None) or self._take(spec)
        self._write_spent()
        if trial is None:
            self._left.append((spec, result))
        elif trial.ended(result, self._tags(result)):
            self._stored(spec)
            self._new_checkpoints += 1
            if self._keep is not None and self._new_checkpoints > self._keep:
                self._prune(spec.point.method)

    def sweep_ended(self, sweep: Sweep, results: Mapping[str, TrialResult]) -> None:
        self._write_what_was_left()
        self._write_spent()
        counts = Counter(str(result.status) for result in results.values())
        finished = [r for r in results.values() if r.status is Status.FINISHED]
        scores = runs.finite({r.spec_id: r.best_score for r in finished})
        if len(results) < len(sweep.specs) and "ended" not in sweep.notes:
            status = Status.INTERRUPTED
        else:
            status = Status.FINISHED if scores else Status.FAILED
        [run] = self._store.search(run_id=self._run_id)
        if scores and run.metrics.get(runs.BEST) != max(scores.values()):
            self._store.log(self._run_id, metrics=[(runs.BEST, max(scores.values()), 0)])
        text = ", ".join(f"{count} {name}" for name, count in counts.most_common())
        self._prune(sweep.method)
        self._end(status, {"embedsearch.trials": text})

    def _write_members(self) -> None:
        notes = dict(self._sweep.notes) if self._sweep else {}
        self._artifacts.put_json("sweep.json", {**self._members, "notes": notes})

    def _write_spent(self) -> None:
        if self._spent is None:
            return
        spent = self._spent()
        numbers = runs.spent_metrics(spent).items()
        self._store.log(self._run_id, metrics=[(key, x, spent.trials) for key, x in numbers])

    def _write_what_was_left(self) -> None:
        """A trial another sweep was thought to write, and has not: its result is known here."""
        for spec, result in self._left:
            if (trial := self._take(spec, whoever_holds_it=True)) and trial.ended(
                result, self._tags(result)
            ):
                self._stored(spec)
        self._left.clear()

    def close(self) -> None:
        """End what is still open, as interrupted; nothing after ``sweep_ended``."""
        if self._claim:
            self._end(Status.INTERRUPTED, {})

    def _end(self, status: Status, tags: dict[str, str]) -> None:
        for trial in self._trials.values():
            if trial:
                trial.interrupted()
        self._trials.clear()
        ended = {runs.REASON: "", runs.STATUS: str(status)}
        self._store.log(self._run_id, tags={**tags, **ended})
        self._store.client.set_terminated(self._run_id, runs.mlflow_status(status))
        self._drop_doubles()
        if self._claim:
            self._claim.release()
        self._claim = None

    def _drop_doubles(self) -> None:
        """A server that made a run, went away before it said so and was asked again has two."""
        for run in self._store.search(self._method, mlflow_status="RUNNING", holder=self._run_id):
            self._store.client.delete_run(run.run_id)

    def _prune(self, method: str) -> None:
        if self._keep is not None:
            prune(self._store, method, self._keep)
        self._new_checkpoints = 0

    def _sweep_run(self, sweep: Sweep) -> StoredRun:
        """The run of this sweep, gone on with when an earlier command left it."""
        tags = {
            runs.STATUS: runs.RUNNING,
            runs.PRESET: sweep.preset,
            runs.NOTES: json.dumps(dict(sweep.notes)),
        }
        found = self._store.search(sweep.method, kind="sweep", sweep_id=sweep.id)
        run = next((r for r in found if not is_alive(self._store, r.run_id)), None)
        if run is not None:
            self._take_over(run, tags)
        else:
            identity = {runs.KIND: "sweep", runs.SWEEP_ID: sweep.id, runs.GRIDS: sweep.grid}
            run = self._new_run(f"{sweep.grid} ({sweep.preset})", {**tags, **identity})
        shown = {"grid": sweep.grid, "preset": sweep.preset, "trials": str(len(sweep.specs))}
        missing = {k: text for k, text in shown.items() if k not in run.params}
        if missing:
            self._store.log(run.run_id, params=missing)
        return run

    def _join_grid(self, sweep: Sweep, reused: Mapping[str, TrialResult]) -> None:
        """A reused trial is found under this grid too."""
        for run in self._store.search(sweep.method, spec_ids=reused, kind="trial"):
            grids = run.tags[runs.GRIDS].split()
            if sweep.grid not in grids:
                self._store.log(run.run_id, tags={runs.GRIDS: " ".join([*grids, sweep.grid])})

    def _take(self, spec: TrialSpec, *, whoever_holds_it: bool = False) -> TrialRun | None:
        """The run to write a trial to; None when it is final, or another living sweep's."""
        holding = {runs.HOLDER: self._run_id, runs.STATUS: runs.RUNNING}
        with self._store.writing():
            same = self._store.search(spec.point.method, kind="trial", spec_id=spec.id)
            run = next(iter(same), None)
            if run is None:
                first = {runs.GRIDS: self._grid, runs.PARENT: self._run_id}
                run = self._new_run(self._name(spec), {**runs.trial_tags(spec), **first, **holding})
            elif self._is_taken(run.tags, whoever_holds_it):
                return None
            else:
                self._take_over(run, holding)
        return TrialRun(self._store, run, spec)

    def _tags(self, result: TrialResult) -> dict[str, str]:
        by_rule = result.status is Status.STOPPED and self._sweep
        return {runs.STOPPED_BY: self._sweep.id} if by_rule and self._sweep else {}

    def _name(self, spec: TrialSpec) -> str:
        axes = self._sweep.axes if self._sweep else ()
        return self._names.get(spec.id) or assigned(spec.point.values, axes) or spec.id[:8]

    def _is_taken(self, tags: Mapping[str, str], whoever_holds_it: bool) -> bool:
        if tags[runs.STATUS] != runs.RUNNING:
            return Status(tags[runs.STATUS]).is_final
        holder = tags[runs.HOLDER]
        return not whoever_holds_it and holder != self._run_id and is_alive(self._store, holder)

    def _new_run(self, name: str, tags: Mapping[str, str]) -> StoredRun:
        own = {**tags, **self._origin}
        run = self._store.client.create_run(self._experiment, run_name=name, tags=own)
        return StoredRun.of(run, self._method)

    def _take_over(self, run: StoredRun, tags: Mapping[str, str]) -> None:
        self._store.client.update_run(run.run_id, status="RUNNING")
        self._store.log(run.run_id, tags=tags)


def mend(store: Store, method: str) -> None:
    """Close the runs that say they are running though the process that wrote them is gone."""
    for run in store.search(method, mlflow_status="RUNNING"):
        run_id, tags = run.run_id, run.tags
        if runs.KIND not in tags or is_alive(store, tags.get(runs.HOLDER, run_id)):
            continue
        if tags[runs.STATUS] == runs.RUNNING:
            closed = {runs.STATUS: str(Status.INTERRUPTED), runs.REASON: "its process was killed"}
            store.log(run_id, tags=closed)
            tags = closed
        store.client.set_terminated(run_id, runs.mlflow_status(Status(tags[runs.STATUS])))


def _origin() -> dict[str, str]:
    """The commit of the working folder, under the tag that MLflow shows; empty outside a repo."""
    try:
        git = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True)
    except OSError:
        return {}
    return {"mlflow.source.git.commit": git.stdout.strip()} if git.returncode == 0 else {}
