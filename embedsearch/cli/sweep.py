"""``embedsearch sweep METHOD --grid G``: a grid's trials over the cluster."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from typer import Exit, Option

from embedsearch.cli.options import Choices, Json, Store, choosing
from embedsearch.errors import UserError


@choosing()
def sweep(
    choices: Choices,
    address: Annotated[
        str | None, Option(help="Of a running Ray cluster; this machine if none.")
    ] = None,
    trials_per_gpu: Annotated[int | None, Option(min=1, help="Trials that share a GPU.")] = None,
    store: Store = None,
    keep: Annotated[str, Option(help="Checkpoints the store keeps: a number, or all.")] = "5",
    json: Json = False,
) -> None:
    """Run a grid of a method's search space, or go on with it: finished trials are not run again.

    Give the same command again after any stop.
    """
    if trials_per_gpu is not None:
        if choices.gpus_per_trial is not None:
            raise UserError("--gpus-per-trial and --trials-per-gpu say the same: give one of them")
        choices = replace(choices, gpus_per_trial=1 / trials_per_gpu)

    from embedsearch.cli.run import run_sweep

    raise Exit(run_sweep(choices, address=address, store=store, keep=keep, as_json=json))
