"""What a run holds of a spec and a result, and how it is read back."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import asdict
from functools import cache
from typing import Any

from embedsearch.records import Scalar, Source, Spent, Status, TrialResult, TrialSpec
from embedsearch.tracking.group import Group
from embedsearch.tracking.names import from_name, from_text, to_name, to_text
from embedsearch.tracking.ranking import Trial
from embedsearch.tracking.stored import SPEC_ID, StoredRun

DEV, START, BEST, STEP = "dev/spearman", "start/dev_spearman", "best/dev_spearman", "best/step"
SECONDS, DEVICE_SECONDS = "seconds", "device_seconds"
TEST = "test"
"""First part of the names of test scores."""

KIND = "embedsearch.kind"
"""``sweep`` or ``trial``."""
SWEEP_ID = "embedsearch.sweep_id"
POINT_ID, GROUP = "embedsearch.point_id", "embedsearch.group"
GRIDS = "embedsearch.grid"
"""Of every sweep that holds the trial, separated by spaces."""
PRESET, NOTES = "embedsearch.preset", "embedsearch.notes"
STATUS, REASON = "embedsearch.status", "embedsearch.reason"
CHECKPOINT = "embedsearch.checkpoint"
"""``kept`` or ``pruned``."""
HOLDER = "embedsearch.holder"
"""The sweep run whose process writes, or last wrote, the trial."""
STOPPED_BY = "embedsearch.stopped_by"
"""The id of the sweep whose rule stopped the trial early."""
SPENT = "spent"
"""First part of the names of what a sweep has cost."""
HEARTBEAT = "embedsearch.heartbeat"
PARENT = "mlflow.parentRunId"

KEPT, PRUNED = "kept", "pruned"
RUNNING = "running"

_SETTINGS = ("seed", "total_steps", "eval_steps", "device", "precision", "threads")
_DIVISION = {"chunk_size": None, "ranks": 1}
"""Params only of a trial whose batches are divided."""
_SOURCES = ("backbone", "corpus", "dev")
"""The fields of a spec that are params beside the point's values."""

_MLFLOW_STATUS = {
    Status.FINISHED: "FINISHED",
    Status.INTERRUPTED: "KILLED",
    Status.STOPPED: "KILLED",
}


def mlflow_status(status: Status) -> str:
    return _MLFLOW_STATUS.get(status, "FAILED")


def trial_params(spec: TrialSpec) -> dict[str, str]:
    """The resolved spec, flat, under plain names."""
    settings = {name: getattr(spec, name) for name in _SETTINGS}
    division = {name: getattr(spec, name) for name in _DIVISION}
    settings |= {name: n for name, n in division.items() if n != _DIVISION[name]}
    sources = {name: _called(getattr(spec, name)) for name in _SOURCES}
    flat = {**spec.point.values, **settings, **sources}
    return {to_name(name): to_text(value) for name, value in flat.items()}


def _called(source: Source) -> str:
    return source.name or source.location


def trial_tags(spec: TrialSpec) -> dict[str, str]:
    """Identity of a trial, for searching; ``trial_params`` has its values."""
    group = Group.of(spec)
    sources = {name: getattr(spec, name) for name in _SOURCES}
    return {
        KIND: "trial",
        SPEC_ID: spec.id,
        POINT_ID: spec.point.id,
        "embedsearch.method": spec.point.method,
        GROUP: group.key,
        "embedsearch.protocol": group.protocol,
        PRESET: spec.preset,
        STATUS: RUNNING,
        **{f"embedsearch.{name}": _called(source) for name, source in sources.items()},
        **{f"embedsearch.{name}_fingerprint": s.fingerprint for name, s in sources.items()},
    }


def summary(result: TrialResult) -> dict[str, float]:
    """The metrics that stand for a trial as a whole.

    Only a final one has a best, so that a later try is never mixed up with an earlier one.
    """
    numbers: dict[str, float | None] = {
        START: result.start_score,
        SECONDS: result.seconds,
        DEVICE_SECONDS: result.device_seconds,
    }
    if result.status.is_final:
        numbers |= {BEST: result.best_score, STEP: result.best_step}
    return finite(numbers)


def finite(numbers: Mapping[str, float | None]) -> dict[str, float]:
    """Without what MLflow would store as another number (inf becomes 1.797e308)."""
    return {key: x for key, x in numbers.items() if x is not None and math.isfinite(x)}


def to_result(run: StoredRun, checkpoint: str | None) -> TrialResult:
    """The result a trial's run holds, its curve left out; one that says that it is running is of a
    process that was killed."""
    tags, metrics = run.tags, run.metrics
    step = metrics.get(STEP)
    return TrialResult(
        spec_id=tags[SPEC_ID],
        status=Status.INTERRUPTED if tags[STATUS] == RUNNING else Status(tags[STATUS]),
        reason=tags.get(REASON, ""),
        start_score=metrics.get(START),
        best_score=metrics.get(BEST),
        best_step=None if step is None else int(step),
        seconds=metrics.get(SECONDS, 0.0),
        device_seconds=metrics.get(DEVICE_SECONDS, 0.0),
        checkpoint=checkpoint,
    )


def values_of(run: StoredRun) -> dict[str, Scalar]:
    """The values of a trial's point, and its settings by their names."""
    return {from_name(key): from_text(text) for key, text in run.params.items()}


def spent_metrics(spent: Spent) -> dict[str, float]:
    return {f"{SPENT}/{name}": float(value) for name, value in asdict(spent).items()}


def to_spent(run: StoredRun) -> Spent:
    """What a sweep's run says that it has cost."""
    found = {name: run.metrics.get(f"{SPENT}/{name}", 0.0) for name in asdict(Spent())}
    return Spent(int(found["trials"]), found["seconds"], found["device_seconds"])


def to_trial(run: StoredRun, checkpoint: str | None) -> Trial:
    """A trial's run as an entry of a ranking."""
    tags, metrics = run.tags, run.metrics
    values = values_of(run)
    around = {name: values.pop(name, None) for name in (*_SETTINGS, *_SOURCES)}
    division = {name: values.pop(name) for name in _DIVISION if name in values}
    step = metrics.get(STEP)
    return Trial(
        run_id=run.run_id,
        point_id=tags[POINT_ID],
        group=Group(
            **{name: tags[f"embedsearch.{name}"] for name in _SOURCES},
            total_steps=int(around["total_steps"] or 0),
            protocol=tags["embedsearch.protocol"],
            key=tags[GROUP],
            dev_fingerprint=tags["embedsearch.dev_fingerprint"],
        ),
        grids=frozenset(tags.get(GRIDS, "").split()),
        preset=tags[PRESET],
        seed=int(around["seed"] or 0),
        values=values,
        score=metrics.get(BEST) if tags[STATUS] == Status.FINISHED else None,
        start_score=metrics.get(START),
        step=None if step is None else int(step),
        checkpoint=checkpoint,
        ended=run.ended_ms or 0,
        tests=test_scores(run),
        spec_id=tags[SPEC_ID],
        device_seconds=metrics.get(DEVICE_SECONDS, 0.0),
        division=division,
    )


def test_scores(run: StoredRun) -> dict[str, float]:
    """``task/score``, or an average's name, of a trial that was evaluated; the latest of each."""
    prefix = f"{TEST}/"
    return {
        from_name(name).removeprefix(prefix): value
        for name, value in run.metrics.items()
        if name.startswith(prefix)
    }


@cache
def environment() -> dict[str, Any]:
    """What a trial's numbers may depend on besides its spec."""
    import platform
    from importlib.metadata import PackageNotFoundError, version

    packages = {}
    for name in ("embedsearch", "torch", "transformers", "tokenizers", "numpy", "scipy", "ray",
                 "optuna", "datasets", "safetensors", "mlflow"):  # fmt: skip
        try:
            packages[name] = version(name)
        except PackageNotFoundError:
            continue
    return {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "cpus": os.cpu_count(),
        "packages": packages,
    }
