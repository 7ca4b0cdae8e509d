"""``embedsearch confirm METHOD``: the leaders of a search again, under fresh seeds."""

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


@choosing("max_trials", "seed")
def confirm(
    choices: SettingChoices,
    method: Annotated[str, Argument(help="scd, simcse, or a space of your own.")],
    top: Annotated[int, Option(min=1, help="How many leaders.")] = 5,
    seeds: Annotated[int, Option(min=2, help="Of each: ones that no trial of a search had.")] = 5,
    address: Address = None,
    trials_per_gpu: TrialsPerGpu = None,
    store: Store = None,
    keep: Keep = "5",
    json: Json = False,
) -> None:
    """Run the best points on record again with fresh seeds, and say which are not told apart.

    In the setting they were found in, but for the options given. Give the same command again after
    any stop.
    """
    from embedsearch.cli.run import run_confirmation

    ended = run_confirmation(
        method, top, seeds, sharing(choices, trials_per_gpu),
        address=address, store=store, keep=keep, as_json=json,
    )  # fmt: skip
    raise Exit(ended)
