"""What a sweep would run and cost."""

from __future__ import annotations

from dataclasses import replace

from rich.console import Console

from embedsearch.cli.job import Job
from embedsearch.cli.layout import make_job, stages
from embedsearch.cli.options import Choices
from embedsearch.labels import count, duration
from embedsearch.report.live import outcome
from embedsearch.sweep import search
from embedsearch.tracking.ledger import StoreLedger
from embedsearch.tracking.store import Store


def show_plan(choices: Choices, store: str | None) -> None:
    """Print a job: a line a trial, then the cost of those that are left."""
    opened = Store.open(store)
    ledger = StoreLedger(opened)
    choices = replace(choices, storage=choices.storage or str(opened.storage))
    resources = search.local_resources()
    console = Console(highlight=False, markup=False)
    for grid in stages(choices):
        job = make_job(replace(choices, grid=grid), ledger, resources["GPU"])
        at_once = search.trials_at_once(resources, job.surroundings.cluster)
        _show(console, job, ledger.seconds_per_step(job.space.name), at_once)
        if job.missing and grid != stages(choices)[-1]:
            console.print(f"What comes then lies around the best of {grid}: plan it when that ran.")
            return


def _show(console: Console, job: Job, seconds_per_step: float | None, at_once: int) -> None:
    names = job.names
    console.print(job.surroundings.said, *job.said(at_once), sep="\n", soft_wrap=True)
    to_run = job.to_run
    within = {spec.id for spec in ([] if isinstance(to_run, search.Proposals) else to_run)}
    for spec in job.sweep.specs:
        known = job.reused.get(spec.id)
        to_do = f"to run: {count(spec.total_steps, 'step')}"
        left = to_do if spec.id in within else "beyond the budget"
        state = f"done: {outcome(known)}" if known else left
        console.print(f"{names[spec.id]}  {state}", soft_wrap=True)
    console.print(_cost(job, seconds_per_step, at_once), soft_wrap=True)


def _cost(job: Job, seconds_per_step: float | None, at_once: int) -> str:
    """The rest's device time and wall time, by what finished trials took."""
    proposals, budget = job.pursuit.proposals, job.pursuit.budget
    to_run = job.to_run
    each = [] if isinstance(to_run, search.Proposals) else [spec.total_steps for spec in to_run]
    if proposals and not proposals.is_at_its_end:
        each = [proposals.example.total_steps]
        if proposals.limit is not None:
            each *= proposals.limit - len(job.reused)
    if not each:
        return "Nothing is left to run."
    steps, most = sum(each), "at most " if proposals or job.pursuit.stopping.is_early else ""
    work = f"{count(steps, 'step')} in {count(len(each), 'trial')}"
    if proposals and proposals.limit is None:
        most, work = "", f"{count(steps, 'step')} in a trial"
    if seconds_per_step is None:
        return (
            f"Cost: {most}{work}; how long a step takes is known once a trial of {job.space.name} "
            "has finished."
        )
    seconds = steps * seconds_per_step
    cost = f"Cost: {most}{work}, about {duration(seconds)} of trial time"
    if budget and budget.trials is None:
        many = budget.enough_for(seconds / len(each), at_once, job.surroundings.place.devices)
        cost += f"; the budget of {budget.written} is enough for about {count(many, 'trial')}"
    return f"{cost}, {duration(seconds / at_once)} with {at_once} at once (start-up apart)."
