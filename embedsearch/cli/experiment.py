"""``embedsearch run NAME``: what is missing of a paper's table, and the table."""

from __future__ import annotations

from typing import Annotated

from typer import Argument, Exit, Option

from embedsearch.cli.options import (
    Address,
    Json,
    Keep,
    SettingChoices,
    Store,
    TrialsPerGpu,
    choosing,
    sharing,
)


@choosing()
def run(
    choices: SettingChoices,
    name: Annotated[str, Argument(metavar="NAME|FILE", help="scd_table3, or a file of your own.")],
    seeds: Annotated[int | None, Option(min=1, help="Of each row, from --seed on.")] = None,
    address: Address = None,
    trials_per_gpu: TrialsPerGpu = None,
    store: Store = None,
    keep: Keep = "5",
    json: Json = False,
) -> None:
    """Run a paper's table or an ablation, or go on with it, and print it beside what was printed.

    Give the same command again after any stop: finished trials are not run again.
    """
    from embedsearch.cli.run import run_experiment
    from embedsearch.sweep.experiment import load_experiment

    choices = sharing(choices, trials_per_gpu)
    experiment = load_experiment(name)
    ended = run_experiment(
        experiment, choices, seeds=seeds, address=address, store=store, keep=keep, as_json=json
    )
    raise Exit(ended)
