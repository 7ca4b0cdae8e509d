"""What a sweep would run and cost."""

from __future__ import annotations

from dataclasses import replace

from rich.console import Console

from embedsearch.cli.job import Job
from embedsearch.cli.layout import make_job, stages
from embedsearch.cli.options import Choices
from embedsearch.labels import duration, labels
from embedsearch.report.live import outcome
from embedsearch.sweep import search
from embedsearch.tracking.ledger import StoreLedger
from embedsearch.tracking.store import Store


def show_plan(choices: Choices, store: str | None) -> None:
    """Print a job: a line a trial, then the cost of those that are left."""
    opened = Store.open(store)
    ledger = StoreLedger(opened)
    choices = replace(choices, storage=choices.storage or opened.storage)
    resources = search.local_resources()
    choices = replace(choices, grid=stages(choices)[0])
    job = make_job(choices, ledger, resources["GPU"])
    at_once = search.trials_at_once(resources, job.surroundings.cluster)
    console = Console(highlight=False, markup=False)
    names = labels(job.sweep.specs)
    console.print(job.surroundings.said, *job.said(at_once), sep="\n", soft_wrap=True)
    for spec in job.sweep.specs:
        known = job.reused.get(spec.id)
        state = f"done: {outcome(known)}" if known else f"to run: {spec.total_steps} steps"
        console.print(f"{names[spec.id]}  {state}", soft_wrap=True)
    console.print(_cost(job, ledger.seconds_per_step(job.space.name), at_once), soft_wrap=True)


def _cost(job: Job, seconds_per_step: float | None, at_once: int) -> str:
    """The rest's device time and wall time, by what finished trials took."""
    steps = sum(spec.total_steps for spec in job.missing)
    if not job.missing:
        return "Nothing is left to run."
    if seconds_per_step is None:
        return (
            f"Cost: {steps:,} steps in {len(job.missing)} trials; how long a step takes is known "
            f"once a trial of {job.space.name} has finished."
        )
    seconds = steps * seconds_per_step
    return (
        f"Cost: {steps:,} steps in {len(job.missing)} trials, about {duration(seconds)} of trial "
        f"time, {duration(seconds / at_once)} with {at_once} at once (start-up apart)."
    )
