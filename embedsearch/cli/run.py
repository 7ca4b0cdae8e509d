"""The commands that run trials, each from its choices to its exit code."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from itertools import zip_longest
from typing import Any

from embedsearch import trial
from embedsearch.cli.confirmation import find_leaders
from embedsearch.cli.layout import make_job, stages
from embedsearch.cli.observers import UntilFull
from embedsearch.cli.options import Choices, SettingChoices
from embedsearch.cli.output import Output, Run, ToRun, kept, write_json
from embedsearch.cli.pursuit import Pursuit
from embedsearch.cli.site import Site
from embedsearch.cli.study import make_study
from embedsearch.records import Observer
from embedsearch.report.confirmation_table import show_confirmation
from embedsearch.report.tables import show_comparison
from embedsearch.sweep import search
from embedsearch.sweep.experiment import Experiment
from embedsearch.tracking.store import Store


def run_sweep(
    choices: Choices, *, address: str | None, store: str | None, keep: str, as_json: bool
) -> int:
    """Run what ``choices`` ask for over Ray, and give the exit code.

    A cluster of our own is started only where something is left to run. ``A-then-B`` is a grid
    and, once all of it has run, the one around its best.
    """
    output = Output(Store.open(store), kept(keep), as_json)
    choices = output.beside_the_store(choices)
    code, ends = 0, []
    with _reached(address) as resources:
        grids = stages(choices)
        for grid, then in zip_longest(grids, grids[1:]):
            choices = replace(choices, grid=grid)
            job = make_job(choices, output.ledger, resources.get("GPU", 0), address)
            at_once = search.trials_at_once(resources, job.surroundings.cluster)
            run = _over_ray(job.surroundings, job.pursuit)
            ends.append(replace(output.concluded(job, run, at_once), then=then or ""))
            code = ends[-1].exit_code()
            if not as_json:
                output.say(ends[-1])
            if code:
                break
    if as_json:
        output.say(ends[-1], before=ends[:-1])
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
    output = Output(Store.open(store), kept(keep), as_json)
    choices = output.beside_the_store(choices)
    with _reached(address) as resources:
        gpus = resources.get("GPU", 0)
        study = make_study(experiment, choices, seeds, output.ledger, gpus, address)
        at_once = search.trials_at_once(resources, study.surroundings.cluster)
        results = output.carry_out(study, _over_ray(study.surroundings), at_once)
    comparison = study.compared(results)
    if as_json:
        write_json(comparison.to_json())
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
    output = Output(Store.open(store), kept(keep), as_json)
    choices = output.beside_the_store(choices)
    with _reached(address) as resources:
        gpus = resources.get("GPU", 0)
        leaders = find_leaders(method, top, seeds, choices, output.ledger, gpus, address)
        at_once = search.trials_at_once(resources, leaders.surroundings.cluster)
        results = output.carry_out(leaders, _over_ray(leaders.surroundings), at_once)
    confirmation = leaders.concluded(results, output.ledger)
    if as_json:
        write_json(confirmation.to_json())
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
    output.say(end)
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
            search.run_trials(specs, surroundings.place, cluster, UntilFull(observer), **how)

    return run
