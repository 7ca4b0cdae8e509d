"""Running a job: the one place where sweep, store and view meet."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass, replace

from rich.console import Console

from embedsearch import trial
from embedsearch.cli.job import Job, make_job
from embedsearch.cli.options import Choices
from embedsearch.errors import UserError
from embedsearch.records import Measurement, Observer, Sweep, TrialResult, TrialSpec
from embedsearch.report.live import LiveView, PlainView
from embedsearch.report.summary import Summary
from embedsearch.sweep import search
from embedsearch.tracking.guarded import Guarded
from embedsearch.tracking.ledger import StoreLedger
from embedsearch.tracking.store import Store
from embedsearch.tracking.writer import Writer

Results = Mapping[str, TrialResult]
Run = Callable[[Sequence[TrialSpec], Observer], object]
"""Runs specs and tells the observer; whatever stops it, what ended was told."""


def run_sweep(
    choices: Choices, *, address: str | None, store: str | None, keep: str, as_json: bool
) -> int:
    """Run what ``choices`` ask for over Ray, and give the exit code.

    A cluster of our own is started only where something is left to run.
    """
    output = Output(Store.open(store), _kept(keep), as_json)
    choices = output.beside_the_store(choices)
    with ExitStack() as stack:
        if address is None:
            resources: Mapping[str, float] = search.local_resources()
        else:
            resources = stack.enter_context(search.connected(search.Cluster(address)))
        job = make_job(choices, output.ledger, resources.get("GPU", 0), address)
        cluster = job.surroundings.cluster
        at_once = search.trials_at_once(resources, cluster)

        def over_ray(specs: Sequence[TrialSpec], observer: Observer) -> None:
            with nullcontext() if address else search.connected(cluster):
                search.run_trials(specs, job.surroundings.place, cluster, observer)

        return output.conclude(job, over_ray, at_once)


def run_one(choices: Choices, *, store: str | None, as_json: bool) -> int:
    """Run the one trial ``choices`` describe in this process, and give the exit code."""
    output = Output(Store.open(store), None, as_json)
    choices = output.beside_the_store(choices)
    job = make_job(choices, output.ledger, search.local_resources().get("GPU", 0))

    def in_process(specs: Sequence[TrialSpec], observer: Observer) -> None:
        for spec in specs:
            observer.trial_started(spec)
            result = trial.run(spec, job.surroundings.place, lambda m: observer.measured(spec, m))  # noqa: B023
            observer.trial_ended(spec, result)

    return output.conclude(job, in_process, at_once=1)


@dataclass(frozen=True)
class Output:
    """Where a job's results go: the store, and the terminal or a program."""

    store: Store
    keep: int | None
    as_json: bool

    @property
    def ledger(self) -> StoreLedger:
        return StoreLedger(self.store)

    def beside_the_store(self, choices: Choices) -> Choices:
        """``choices`` with the storage that belongs to the store, unless they name another."""
        return replace(choices, storage=choices.storage or self.store.storage)

    def conclude(self, job: Job, run: Run, at_once: int) -> int:
        """Run what is missing, show it, and say how it ended; the exit code."""
        console = Console(stderr=self.as_json, highlight=False, markup=False)
        console.print(job.surroundings.said, *job.said(at_once), sep="\n", soft_wrap=True)
        view = (LiveView if console.is_terminal else PlainView)(
            console, at_once, _seconds_a_trial(job, self.ledger)
        )
        place = job.surroundings.place
        writer = Writer(self.store, keep=self.keep, stored=lambda spec: trial.tidy(place, spec.id))
        observer = _Everyone(view, Guarded(self.store, writer))
        observer.sweep_started(job.sweep, job.reused)
        for spec_id in job.reused:
            trial.tidy(place, spec_id)
        try:
            if job.missing:
                run(job.missing, observer)
        except KeyboardInterrupt:
            pass
        finally:
            with search.unstoppable():
                observer.sweep_ended(job.sweep, view.results)
        return self._say(Summary(job.sweep, view.results), console)

    def _say(self, summary: Summary, console: Console) -> int:
        kept = self.ledger.results(summary.sweep.specs)
        checkpoints = {key: r.checkpoint for key, r in kept.items() if r.checkpoint is not None}
        if self.as_json:
            sys.stdout.write(json.dumps(summary.to_json(checkpoints), indent=1) + "\n")
        else:
            console.print(*summary.lines(checkpoints), sep="\n", soft_wrap=True)
        return summary.exit_code()


class _Everyone:
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


def _kept(keep: str) -> int | None:
    if keep == "all":
        return None
    if keep.isdecimal() and int(keep) > 0:
        return int(keep)
    raise UserError(f"--keep {keep}: give a number of checkpoints from 1, or all")


def _seconds_a_trial(job: Job, ledger: StoreLedger) -> float | None:
    steps = max((spec.total_steps for spec in job.missing), default=0)
    seconds = ledger.seconds_per_step(job.space.name)
    return None if seconds is None else seconds * steps
