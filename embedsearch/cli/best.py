"""``embedsearch best --method M``: the best trials in the store, and what they were compared on."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from typer import Exit, Option

from embedsearch.cli import options


def best(
    method: Annotated[str, Option(help="scd, simcse, frozen, or a space of your own.")],
    grid: Annotated[str | None, Option(help="Only trials of this grid.")] = None,
    preset: Annotated[str | None, Option(help="Only trials of this preset.")] = None,
    backbone: Annotated[
        str | None, Option(metavar="NAME|FOLDER", help="Only trials on this backbone.")
    ] = None,
    top: Annotated[int, Option(min=1, help="How many to print.")] = 1,
    export: Annotated[
        Path | None, Option(metavar="FOLDER", help="Copy the best checkpoint here.")
    ] = None,
    store: options.Store = None,
    json: options.Json = False,
) -> None:
    """Print the best trials on record: score, untrained score, hyperparameters and checkpoint.

    Only trials on the same dev pairs, backbone, corpus and number of steps are compared.
    """
    from rich.console import Console

    from embedsearch.report.tables import show_ranking
    from embedsearch.tracking.ledger import StoreLedger
    from embedsearch.tracking.store import Store

    where = Store.open(store)
    ledger = StoreLedger(where)
    ranking = ledger.best(method, grid=grid, preset=preset, backbone=backbone, top=top)
    found = ranking.to_json()
    if not ranking.entries:
        asked = {"grid": grid, "preset": preset, "backbone": backbone}
        reason = _nothing(method, {k: v for k, v in asked.items() if v}, str(where))
        sys.stderr.write(f"{reason}\n")
        _write_json({"method": method, "reason": reason, **found}, json)
        raise Exit(1)
    if export:
        ledger.export(ranking.entries[0].leader.run_id, export)
    _write_json({"method": method, **found}, json)
    if not json:
        console = Console()
        show_ranking(console, method, found)
        if export:
            console.print(f"exported to {export}", soft_wrap=True, markup=False, highlight=False)


def _nothing(method: str, asked: dict[str, str], where: str) -> str:
    """One sentence that names the command to run first."""
    from embedsearch.sweep.catalogue import find_space, first_grid

    grid = asked.get("grid") or first_grid(find_space(method))
    on = "".join(f" --{name} {value}" for name, value in asked.items() if name != "grid")
    kind = " ".join(f"{name} {value}" for name, value in asked.items())
    of = f" of {kind}" if kind else ""
    return (
        f"no {method} trial{of} in {where} has a score; "
        f"run `python -m embedsearch.sweep {method} --grid {grid}{on}` first"
    )


def _write_json(value: dict[str, object], wanted: bool) -> None:
    from json import dumps

    if wanted:
        sys.stdout.write(dumps(value, indent=1, allow_nan=False, ensure_ascii=False) + "\n")
