"""Remembers what was run: by spec, by score, and by what is still unfinished."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from embedsearch.errors import UserError
from embedsearch.records import Point, Scalar, Status, Sweep, TrialResult, TrialSpec
from embedsearch.tracking import runs
from embedsearch.tracking.artifacts import CHECKPOINT_FOLDER, SIMILARITIES, Artifacts
from embedsearch.tracking.group import Group
from embedsearch.tracking.liveness import is_alive
from embedsearch.tracking.ranking import Ranking, Trial, rank
from embedsearch.tracking.store import Store
from embedsearch.tracking.stored import PREFIX, SPEC_ID, StoredRun
from embedsearch.tracking.sweeps import Sweeps

_OF_LATE = 500
"""Trials that tell how long a step takes."""

_FINAL = [status for status in Status if status.is_final]


@dataclass(frozen=True)
class Kept:
    """A trial's checkpoint that the store has."""

    run_id: str
    folder: str
    name: str
    """Its method and what told it apart in its sweep."""
    backbone: str
    corpus: str


class StoreLedger:
    """A ``Ledger`` over a store. Reading makes nothing: a store that is not there is empty."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.sweeps = Sweeps(store)

    def results(self, specs: Sequence[TrialSpec]) -> Mapping[str, TrialResult]:
        """The final results by spec id, without their curves; one search per comparable group."""
        wanted = {spec.id for spec in specs}
        groups = {(spec.point.method, Group.of(spec).key) for spec in specs}
        found = {}
        for method, key in groups:
            for run in self._store.search(method, spec_ids=wanted, kind="trial", group=key):
                if run.tags[runs.STATUS] in _FINAL:
                    result = runs.to_result(run, _checkpoint(self._store, run))
                    found[result.spec_id] = result
        return found

    def stopped(self, specs: Sequence[TrialSpec], sweep: Sweep) -> Mapping[str, TrialResult]:
        """Those that the rule of this very sweep has stopped early, by spec id."""
        wanted = {spec.id for spec in specs}
        return {
            run.tags[SPEC_ID]: runs.to_result(run, None)
            for run in self._store.search(sweep.method, spec_ids=wanted, stopped_by=sweep.id)
            if run.tags[runs.STATUS] == Status.STOPPED
        }

    def tried(self, method: str) -> list[tuple[Mapping[str, Scalar], TrialResult]]:
        """All trials on record that none is running, with the values of their points."""
        return [
            (runs.values_of(run), runs.to_result(run, _checkpoint(self._store, run)))
            for run in self._store.search(method, kind="trial")
            if run.tags[runs.STATUS] != runs.RUNNING
            or not is_alive(self._store, run.tags[runs.HOLDER])
        ]

    def curves(self, method: str, spec_ids: Collection[str]) -> dict[str, dict[int, float]]:
        """Dev scores by step, of those trials that have any."""
        found = {}
        for run in self._store.search(method, kind="trial", spec_ids=spec_ids) if spec_ids else ():
            history = self._store.client.get_metric_history(run.run_id, runs.DEV)
            if curve := {metric.step: metric.value for metric in history}:
                found[run.tags[SPEC_ID]] = dict(sorted(curve.items()))
        return found

    def running(self, specs: Sequence[TrialSpec]) -> frozenset[str]:
        """The ids of those that a living sweep is running now."""
        wanted = {spec.id for spec in specs}
        return frozenset(
            run.tags[SPEC_ID]
            for method in {spec.point.method for spec in specs}
            for run in self._store.search(method, spec_ids=wanted, status=runs.RUNNING)
            if is_alive(self._store, run.tags[runs.HOLDER])
        )

    def seconds_per_step(self, method: str) -> float | None:
        """Median over the method's longer trials among those of late; None without any.

        A short one says little: start and first score would be spread over few steps.
        """
        finished = self._store.search(method, limit=_OF_LATE, kind="trial", status="finished")
        costs = [
            (int(run.params["total_steps"]), run.metrics[runs.SECONDS])
            for run in finished
            if runs.SECONDS in run.metrics
        ]
        longest = max((steps for steps, _ in costs), default=0)
        per_step = [seconds / steps for steps, seconds in costs if 0 < steps >= longest / 2]
        return median(per_step) if per_step else None

    def best(
        self,
        method: str,
        *,
        grid: str | None = None,
        preset: str | None = None,
        backbone: str | None = None,
        top: int = 1,
    ) -> Ranking:
        """The ``top`` points among those comparable with the most recent trial that meets the
        filters. Without any such trial the ranking has no entries.
        """
        trials = self.trials(method, preset=preset, backbone=backbone)
        points = {trial.point for trial in trials if grid in trial.grids}
        trials = [
            trial
            for trial in trials
            if grid is None or grid in trial.grids or (trial.confirms and trial.point in points)
        ]
        return rank(trials).top(top)

    def trials(
        self, method: str, *, preset: str | None = None, backbone: str | None = None
    ) -> list[Trial]:
        """All trials of a method that meet the filters, the latest first."""
        return [
            trial
            for run in self._store.search(method, kind="trial")
            if (trial := to_trial(self._store, run))
            and (preset is None or trial.preset in (preset, Path(preset).stem))
            and (backbone is None or trial.group.backbone in (backbone, Path(backbone).name))
        ]

    def similarities(self, method: str, spec_ids: Collection[str]) -> dict[str, list[float]]:
        """The cosines of the dev pairs, by spec id; those that the store has."""
        found = {}
        for run in self._store.search(method, kind="trial", spec_ids=spec_ids) if spec_ids else ():
            with suppress(OSError, ValueError):  # of an earlier version, or killed
                found[run.tags[SPEC_ID]] = Artifacts(self._store, run).get_json(SIMILARITIES)
        return found

    def spec(self, run_id: str) -> TrialSpec:
        """The spec of a trial's run; errors as those of ``point``."""
        return self._spec(self._trial(run_id))

    def point(self, run_id: str) -> Point:
        """The point of a trial's run, by its id or the first six or more digits of it.

        Raises ``UserError`` when no trial, or more than one, has such an id.
        """
        return self.spec(run_id).point

    def export(self, run_id: str, target: Path) -> None:
        """Copy a trial's checkpoint to ``target``, whole or not at all.

        Raises ``UserError`` when the store no longer has it, or ``target`` holds something.
        """
        self._kept(run_id)[1].fetch_folder(CHECKPOINT_FOLDER, target)

    def checkpoint(self, run_id: str) -> Kept:
        """A trial's checkpoint by its run id, or the first digits of it; from a server it is
        fetched once. Raises ``UserError`` when there is no such trial or checkpoint.
        """
        run, artifacts = self._kept(run_id)
        folder = artifacts.folder and artifacts.folder / CHECKPOINT_FOLDER
        if folder is None:
            folder = self._store.storage / "checkpoints" / run.run_id
            if not folder.is_dir():
                artifacts.fetch_folder(CHECKPOINT_FOLDER, folder)
        name = f"{run.method} {run.name} ({run.run_id[:6]})"
        source = {key: run.tags[f"{PREFIX}{key}"] for key in ("backbone", "corpus")}
        return Kept(run.run_id, str(folder), name, **source)

    def _kept(self, run_id: str) -> tuple[StoredRun, Artifacts]:
        run = self._trial(run_id)
        if _checkpoint(self._store, run) is None:
            raise UserError(
                f"the checkpoint of run {run.run_id} is not in the store: it was not among "
                "the best at the end of its sweep; run the sweep with --keep all"
            )
        return run, Artifacts(self._store, run)

    def _trial(self, run_id: str) -> StoredRun:
        prefix = run_id.strip().lower()
        if len(prefix) < 6 or not set(prefix) <= set("0123456789abcdef"):
            raise UserError(f"'{run_id}' is no run id; give at least its first 6 hex digits")
        found = self._store.search(run_id=prefix, kind="trial")
        if len(found) != 1:
            what = (
                f"{len(found)} trials in {self._store} have a run id"
                if found
                else (f"no trial in {self._store} has a run id")
            )
            raise UserError(f"{what} that begins with '{run_id}'; `embedsearch best` prints them")
        return found[0]

    def _spec(self, run: StoredRun) -> TrialSpec:
        try:
            return TrialSpec.from_json(Artifacts(self._store, run).get_json("spec.json"))
        except (OSError, ValueError) as error:
            raise UserError(f"run {run.run_id} has lost its spec.json: {error}") from error


def to_trial(store: Store, run: StoredRun) -> Trial:
    """A run as a trial to be ranked, with its checkpoint where the store has it."""
    return runs.to_trial(run, _checkpoint(store, run))


def _checkpoint(store: Store, run: StoredRun) -> str | None:
    if run.tags.get(runs.CHECKPOINT) != runs.KEPT:
        return None
    return Artifacts(store, run).location(CHECKPOINT_FOLDER)
