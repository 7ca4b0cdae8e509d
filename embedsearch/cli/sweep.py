"""``embedsearch sweep METHOD --grid G``: a grid's trials over the cluster."""

from __future__ import annotations

from typer import Exit

from embedsearch.cli.options import (
    Address,
    Choices,
    Json,
    Keep,
    Store,
    TrialsPerGpu,
    choosing,
    sharing,
)


@choosing()
def sweep(
    choices: Choices,
    address: Address = None,
    trials_per_gpu: TrialsPerGpu = None,
    store: Store = None,
    keep: Keep = "5",
    json: Json = False,
) -> None:
    """Run a grid of a method's search space, or go on with it: finished trials are not run again.

    Give the same command again after any stop.
    """
    choices = sharing(choices, trials_per_gpu)

    from embedsearch.cli.run import run_sweep

    raise Exit(run_sweep(choices, address=address, store=store, keep=keep, as_json=json))
