"""Running a job: the one place where sweep, store and view meet."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Protocol

from rich.console import Console

from embedsearch import trial
from embedsearch.cli.job import Job, make_job
from embedsearch.cli.observers import ByMethod, Everyone, UntilFull
from embedsearch.cli.options import C, Choices, SettingChoices
from embedsearch.cli.study import make_study
from embedsearch.cli.surroundings import Surroundings
from embedsearch.errors import UserError
from embedsearch.place import Place
from embedsearch.records import Observer, Sweep, TrialResult, TrialSpec
from embedsearch.report.live import LiveView, PlainView
from embedsearch.report.summary import Summary
from embedsearch.report.tables import show_comparison
from embedsearch.sweep import search
from embedsearch.sweep.experiment import Experiment
from embedsearch.tracking.guarded import Guarded
from embedsearch.tracking.ledger import StoreLedger
from embedsearch.tracking.store import Store
from embedsearch.tracking.writer import Writer

Results = Mapping[str, TrialResult]
Run = Callable[[Sequence[TrialSpec], Observer], object]
"""Runs specs and tells the observer; whatever stops it, what ended was told."""


class Work(Protocol):
    """What a command is to run: at most one sweep of each method."""

    @property
    def surroundings(self) -> Surroundings: ...
    @property
    def sweeps(self) -> Sequence[Sweep]: ...
    @property
    def reused(self) -> Results: ...
    @property
    def names(self) -> Mapping[str, str]:
        """What trials are called, by spec id."""

    def said(self, at_once: int) -> list[str]:
        """What is to run and what is not, in lines."""


def run_sweep(
    choices: Choices, *, address: str | None, store: str | None, keep: str, as_json: bool
) -> int:
    """Run what ``choices`` ask for over Ray, and give the exit code.

    A cluster of our own is started only where something is left to run.
    """
    output = Output(Store.open(store), _kept(keep), as_json)
    choices = output.beside_the_store(choices)
    with _reached(address) as resources:
        job = make_job(choices, output.ledger, resources.get("GPU", 0), address)
        at_once = search.trials_at_once(resources, job.surroundings.cluster)
        return output.conclude(job, _over_ray(job.surroundings), at_once)


def run_experiment(
    experiment: Experiment,
    choices: SettingChoices,
    *,
    seeds: int | None,
    address: str | None,
    store: str | None,
    keep: str,
    as_json: bool,
) -> int:
    """Run what is missing of a table in one Ray session, print it, and give the exit code."""
    output = Output(Store.open(store), _kept(keep), as_json)
    choices = output.beside_the_store(choices)
    with _reached(address) as resources:
        gpus = resources.get("GPU", 0)
        study = make_study(experiment, choices, seeds, output.ledger, gpus, address)
        at_once = search.trials_at_once(resources, study.surroundings.cluster)
        results = output.carry_out(study, _over_ray(study.surroundings), at_once)
    comparison = study.compared(results)
    if as_json:
        _write_json(comparison.to_json())
    else:
        show_comparison(output.console, comparison.to_json())
    return comparison.exit_code()


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


@contextmanager
def _reached(address: str | None) -> Iterator[Mapping[str, float]]:
    """What there is to run on: a running cluster, joined, or this machine."""
    if address is None:
        yield search.local_resources()
    else:
        with search.connected(search.Cluster(address)) as resources:
            yield resources


def _over_ray(surroundings: Surroundings) -> Run:
    """Runs specs in one Ray session, of its own where no cluster was joined."""
    cluster = surroundings.cluster

    def run(specs: Sequence[TrialSpec], observer: Observer) -> None:
        with nullcontext() if cluster.address else search.connected(cluster):
            search.run_trials(specs, surroundings.place, cluster, UntilFull(observer))

    return run


@dataclass(frozen=True)
class Output:
    """Where a job's results go: the store, and the terminal or a program."""

    store: Store
    keep: int | None
    as_json: bool

    @property
    def ledger(self) -> StoreLedger:
        return StoreLedger(self.store)

    @property
    def console(self) -> Console:
        return Console(stderr=self.as_json, highlight=False, markup=False)

    def beside_the_store(self, choices: C) -> C:
        """``choices`` with the storage that belongs to the store, unless they name another."""
        return replace(choices, storage=choices.storage or self.store.storage)

    def conclude(self, job: Job, run: Run, at_once: int) -> int:
        """Run what is missing, show it, and say how it ended; the exit code."""
        return self._say(Summary(job.sweep, self.carry_out(job, run, at_once)))

    def carry_out(self, work: Work, run: Run, at_once: int) -> Results:
        """Run what is missing, showing and recording it; all results by spec id."""
        console = self.console
        console.print(work.surroundings.said, *work.said(at_once), sep="\n", soft_wrap=True)
        missing = [s for sweep in work.sweeps for s in sweep.specs if s.id not in work.reused]
        view = (LiveView if console.is_terminal else PlainView)(
            console, at_once, _seconds_a_trial(missing, self.ledger), work.names
        )
        place = work.surroundings.place
        writers = {sweep.method: self._writer(place) for sweep in work.sweeps}
        observer = Everyone(view, ByMethod(writers))
        for sweep in work.sweeps:
            observer.sweep_started(sweep, _of(sweep, work.reused))
        for spec_id in work.reused:
            trial.tidy(place, spec_id)
        try:
            if missing:
                run(missing, observer)
        except KeyboardInterrupt:
            pass
        finally:
            with search.unstoppable():
                for sweep in work.sweeps:
                    observer.sweep_ended(sweep, _of(sweep, view.results))
        return view.results

    def _writer(self, place: Place) -> Observer:
        def stored(spec: TrialSpec) -> None:
            trial.tidy(place, spec.id)

        return Guarded(self.store, Writer(self.store, keep=self.keep, stored=stored))

    def _say(self, summary: Summary) -> int:
        kept = self.ledger.results(summary.sweep.specs)
        checkpoints = {key: r.checkpoint for key, r in kept.items() if r.checkpoint is not None}
        if self.as_json:
            _write_json(summary.to_json(checkpoints))
        else:
            self.console.print(*summary.lines(checkpoints), sep="\n", soft_wrap=True)
        return summary.exit_code()


def _kept(keep: str) -> int | None:
    if keep == "all":
        return None
    if keep.isdecimal() and int(keep) > 0:
        return int(keep)
    raise UserError(f"--keep {keep}: give a number of checkpoints from 1, or all")


def _of(sweep: Sweep, results: Results) -> Results:
    return {spec.id: results[spec.id] for spec in sweep.specs if spec.id in results}


def _seconds_a_trial(specs: Sequence[TrialSpec], ledger: StoreLedger) -> float | None:
    """The mean over those that train; None where a method's pace is not known."""
    steps = [(spec.point.method, spec.total_steps) for spec in specs if spec.total_steps]
    pace = {method: ledger.seconds_per_step(method) for method, _ in steps}
    costs = [seconds * count for method, count in steps if (seconds := pace[method]) is not None]
    return fmean(costs) if costs and len(costs) == len(steps) else None


def _write_json(value: object) -> None:
    sys.stdout.write(json.dumps(value, indent=1, allow_nan=False) + "\n")
