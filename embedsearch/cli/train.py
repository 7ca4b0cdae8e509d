"""``embedsearch train METHOD KEY=VALUE…``: one trial in this process, without Ray."""

from __future__ import annotations

from dataclasses import replace

from typer import Exit

from embedsearch.cli.options import Choices, Json, Store, choosing


@choosing("grid", "max_trials", "around", "gpus_per_trial")
def train(choices: Choices, store: Store = None, json: Json = False) -> None:
    """Run one trial of a method, at its defaults but for what is given."""
    from embedsearch.cli.run import run_one

    raise Exit(run_one(replace(choices, single=True), store=store, as_json=json))
