"""``embedsearch train METHOD KEY=VALUE…``: one trial in this process, without Ray."""

from __future__ import annotations

from dataclasses import replace

from typer import Exit

from embedsearch.cli.options import Choices, Json, Store, choosing

OF_GRIDS = (
    "grid", "max_trials", "around", "gpus_per_trial",
    "search", "stop", "budget", "search_seed", "cold",
)  # fmt: skip
"""Options that one trial has no use for."""


@choosing(*OF_GRIDS)
def train(choices: Choices, store: Store = None, json: Json = False) -> None:
    """Run one trial of a method, at its defaults but for what is given."""
    from embedsearch.cli.run import run_one

    raise Exit(run_one(replace(choices, single=True), store=store, as_json=json))
