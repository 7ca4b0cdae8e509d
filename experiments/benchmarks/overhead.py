"""What a trial costs over Ray beside a plain loop over the same trials in one process."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from embedsearch import trial
from embedsearch.cli.job import Job
from embedsearch.cli.layout import make_job
from embedsearch.cli.options import Choices
from embedsearch.records import Measurement, Sweep, TrialResult, TrialSpec
from embedsearch.sweep import search
from embedsearch.tracking.ledger import StoreLedger
from embedsearch.tracking.store import Store
from experiments.benchmarks.row import Inputs, Row

TRIALS = 9


class _Clock:
    """Notes when each trial ended."""

    def __init__(self) -> None:
        self.ended: list[float] = []

    def sweep_started(self, sweep: Sweep, reused: Mapping[str, TrialResult]) -> None: ...
    def trial_started(self, spec: TrialSpec) -> None: ...
    def measured(self, spec: TrialSpec, measurement: Measurement) -> None: ...
    def trial_ended(self, spec: TrialSpec, result: TrialResult) -> None:
        self.ended.append(time.perf_counter())

    def sweep_ended(self, sweep: Sweep, results: Mapping[str, TrialResult]) -> None: ...


def rows(inputs: Inputs) -> Iterator[Row]:
    """One trial at a time on both sides; a sweep's start, and its first trial, stand apart."""
    with tempfile.TemporaryDirectory() as folder:
        ours, start = _over_ray(_job(inputs, Path(folder) / "a"))
        plain = _plain_loop(_job(inputs, Path(folder) / "b"))
    yield Row(
        f"a trial over Ray, {inputs.steps // 2} steps",
        f"{ours:.2f} s",
        f"{plain:.2f} s in a loop",
        f"+{ours - plain:.2f} s",
        "at most +0.5 s",
    )
    yield Row("start of a sweep, to the end of its first trial", f"{start:.1f} s", "", "", "")


def _job(inputs: Inputs, storage: Path) -> Job:
    choices = Choices(
        "scd", grid="log", max_trials=TRIALS, preset="demo", steps=inputs.steps // 2,
        eval_steps=inputs.steps // 2, storage=str(storage),
    )  # fmt: skip
    return make_job(choices, StoreLedger(Store.open(str(storage / "store"))), gpus=0)


def _over_ray(job: Job) -> tuple[float, float]:
    clock, begun = _Clock(), time.perf_counter()
    one_at_a_time = search.Cluster(cpus_per_trial=int(search.local_resources()["CPU"]))
    with search.connected(one_at_a_time):
        search.run_trials(job.missing, job.surroundings.place, one_at_a_time, clock)
    return _mean_gap(clock.ended), clock.ended[0] - begun


def _plain_loop(job: Job) -> float:
    ended = []
    for spec in job.missing:
        trial.run(spec, job.surroundings.place, lambda _: None)
        ended.append(time.perf_counter())
    return _mean_gap(ended)


def _mean_gap(moments: list[float]) -> float:
    return (moments[-1] - moments[0]) / (len(moments) - 1)
