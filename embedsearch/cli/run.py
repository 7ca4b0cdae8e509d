"""Running a job: the one place where sweep, store and view meet."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any, Protocol

from rich.console import Console

from embedsearch import trial
from embedsearch.cli.confirmation import find_leaders
from embedsearch.cli.job import Job
from embedsearch.cli.layout import make_job, stages
from embedsearch.cli.observers import ByMethod, Everyone
from embedsearch.cli.options import C, Choices, SettingChoices
from embedsearch.cli.pursuit import Pursuit
from embedsearch.cli.study import make_study
from embedsearch.cli.surroundings import Site
from embedsearch.errors import UserError
from embedsearch.place import Place
from embedsearch.records import Observer, Sweep, TrialResult, TrialSpec
from embedsearch.report.confirmation_table import show_confirmation
from embedsearch.report.live import LiveView, PlainView
from embedsearch.report.summary import Summary
from embedsearch.report.tables import show_comparison
from embedsearch.sweep import search
from embedsearch.sweep.budget import Meter
from embedsearch.sweep.experiment import Experiment
from embedsearch.tracking.guarded import Guarded
from embedsearch.tracking.ledger import StoreLedger
from embedsearch.tracking.store import Store
from embedsearch.tracking.writer import Writer

Results = Mapping[str, TrialResult]
ToRun = Sequence[TrialSpec] | search.Proposals
Run = Callable[[ToRun, Observer], object]
"""Runs specs and tells the observer; whatever stops it, what ended was told."""


class Work(Protocol):
    """What a command is to run: at most one sweep of each method."""

    @property
    def surroundings(self) -> Site: ...
    @property
    def sweeps(self) -> Sequence[Sweep]: ...
    @property
    def reused(self) -> Results: ...
    @property
    def to_run(self) -> ToRun:
        """What is left to run, or who proposes it; empty for nothing."""

    @property
    def names(self) -> Mapping[str, str]:
        """What trials are called, by spec id."""

    def said(self, at_once: int) -> list[str]:
        """What is to run and what is not, in lines."""


def run_sweep(
    choices: Choices, *, address: str | None, store: str | None, keep: str, as_json: bool
) -> int:
    """Run what ``choices`` ask for over Ray, and give the exit code.

    A cluster of our own is started only where something is left to run. ``A-then-B`` is a grid
    and, once all of it has run, the one around its best.
    """
    output = Output(Store.open(store), _kept(keep), as_json)
    choices = output.beside_the_store(choices)
    code, ends = 0, []
    with _reached(address) as resources:
        for grid in stages(choices):
            choices = replace(choices, grid=grid)
            job = make_job(choices, output.ledger, resources.get("GPU", 0), address)
            at_once = search.trials_at_once(resources, job.surroundings.cluster)
            run = _over_ray(job.surroundings, job.pursuit)
            ends.append(output.concluded(job, run, at_once))
            code = ends[-1].exit_code()
            if code:
                break
    output.say(ends)
    return code


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


def run_confirmation(
    method: str,
    top: int,
    seeds: int,
    choices: SettingChoices,
    *,
    address: str | None,
    store: str | None,
    keep: str,
    as_json: bool,
) -> int:
    """Run what is missing of a confirmation, say how sure it is, and give the exit code."""
    output = Output(Store.open(store), _kept(keep), as_json)
    choices = output.beside_the_store(choices)
    with _reached(address) as resources:
        gpus = resources.get("GPU", 0)
        leaders = find_leaders(method, top, seeds, choices, output.ledger, gpus, address)
        at_once = search.trials_at_once(resources, leaders.surroundings.cluster)
        results = output.carry_out(leaders, _over_ray(leaders.surroundings), at_once)
    confirmation = leaders.concluded(results, output.ledger)
    if as_json:
        _write_json(confirmation.to_json())
    else:
        show_confirmation(output.console, confirmation.to_json())
    return confirmation.exit_code()


def run_one(choices: Choices, *, store: str | None, as_json: bool) -> int:
    """Run the one trial ``choices`` describe in this process, and give the exit code."""
    output = Output(Store.open(store), None, as_json)
    choices = output.beside_the_store(choices)
    job = make_job(choices, output.ledger, search.local_resources().get("GPU", 0))

    def in_process(specs: ToRun, observer: Observer) -> None:
        assert not isinstance(specs, search.Proposals)
        for spec in specs:
            observer.trial_started(spec)
            result = trial.run(spec, job.surroundings.place, lambda m: observer.measured(spec, m))  # noqa: B023
            observer.trial_ended(spec, result)

    end = output.concluded(job, in_process, at_once=1)
    output.say([end])
    return end.exit_code()


@contextmanager
def _reached(address: str | None) -> Iterator[Mapping[str, float]]:
    """What there is to run on: a running cluster, joined, or this machine."""
    if address is None:
        yield search.local_resources()
    else:
        with search.connected(search.Cluster(address)) as resources:
            yield resources


def _over_ray(surroundings: Site, pursuit: Pursuit | None = None) -> Run:
    """Runs specs in one Ray session, of its own where no cluster was joined."""
    cluster = surroundings.cluster
    how: dict[str, Any] = {}
    if pursuit:
        how = {
            "stopping": pursuit.stopping,
            "meter": pursuit.meter,
            "before": pursuit.curves,
        }

    def run(specs: ToRun, observer: Observer) -> None:
        with nullcontext() if cluster.address else search.connected(cluster):
            search.run_trials(specs, surroundings.place, cluster, observer, **how)

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

    def concluded(self, job: Job, run: Run, at_once: int) -> Summary:
        """Run what is missing, showing and recording it; how it ended."""
        results = self.carry_out(job, run, at_once, job.pursuit.meter)
        return Summary(job.up_to_now(), results, job.pursuit.stopping.rungs)

    def carry_out(self, work: Work, run: Run, at_once: int, meter: Meter | None = None) -> Results:
        """Run what is missing, showing and recording it; all results by spec id."""
        console = self.console
        console.print(work.surroundings.said, *work.said(at_once), sep="\n", soft_wrap=True)
        to_run = work.to_run
        missing = [] if isinstance(to_run, search.Proposals) else to_run
        view = (LiveView if console.is_terminal else PlainView)(
            console, at_once, _seconds_a_trial(missing, self.ledger), work.names
        )
        place = work.surroundings.place
        writers = {sweep.method: self._writer(place, meter) for sweep in work.sweeps}
        observer = Everyone(view, ByMethod(writers))
        for sweep in work.sweeps:
            observer.sweep_started(sweep, _of(sweep, work.reused))
        for spec_id in work.reused:
            trial.tidy(place, spec_id)
        try:
            if to_run:
                run(to_run, observer)
        except KeyboardInterrupt:
            pass
        finally:
            with search.unstoppable():
                for sweep in work.sweeps:
                    observer.sweep_ended(sweep, _of(sweep, view.results))
        return view.results

    def _writer(self, place: Place, meter: Meter | None) -> Observer:
        def stored(spec: TrialSpec) -> None:
            trial.tidy(place, spec.id)

        spent = (lambda: meter.spent) if meter else None
        writer = Writer(self.store, keep=self.keep, stored=stored, spent=spent)
        return Guarded(self.store, writer)

    def say(self, ends: Sequence[Summary]) -> None:
        """How a command's sweeps ended: in words, or as one JSON object, the last one's."""
        found = [self._with_checkpoints(end) for end in ends]
        if self.as_json:
            last, kept = found[-1]
            before = [end.to_json(kept) for end, kept in found[:-1]]
            _write_json({**last.to_json(kept), **({"before": before} if before else {})})
            return
        for end, kept in found:
            self.console.print(*end.lines(kept), sep="\n", soft_wrap=True)

    def _with_checkpoints(self, end: Summary) -> tuple[Summary, dict[str, str]]:
        kept = self.ledger.results(end.sweep.specs)
        found = {key: r.checkpoint for key, r in kept.items() if r.checkpoint is not None}
        return replace(end, curves=self._curves(end)), found

    def _curves(self, end: Summary) -> search.Curves:
        """Only where they are asked for: of trials that ran before, they lie in the store."""
        known = [key for key, result in end.results.items() if not result.history]
        return self.ledger.curves(end.sweep.method, known) if end.rungs else {}


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
