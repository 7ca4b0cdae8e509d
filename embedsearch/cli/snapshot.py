"""``embedsearch snapshot``: a version of the store, by DVC."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from typer import Exit, Option, echo

from embedsearch.cli import options
from embedsearch.errors import UserError


def snapshot(
    keep: Annotated[
        list[str] | None,
        Option(
            metavar="[METHOD=]N",
            help="Checkpoints to keep of each comparable group, deleting the others; repeatable.",
        ),
    ] = None,
    pull: Annotated[
        bool, Option("--pull", help="Fetch the version that git has, if nothing is lost by it.")
    ] = False,
    store: options.Store = None,
    storage: Annotated[
        str, Option(help="Folder for work in progress that the sweeps were given.")
    ] = ".embedsearch",
) -> None:
    """Version the store by DVC (mlruns.dvc): close it, add it, push it, and say what to commit.

    Refuses while a sweep runs. In a clone, `dvc pull` brings the store.
    """
    from embedsearch.tracking.snapshot import pull as fetch
    from embedsearch.tracking.snapshot import take
    from embedsearch.tracking.store import Store

    if pull and keep:
        raise UserError("--keep is for making a snapshot, --pull for fetching one: give one")
    where = Store.open(store, storage=None if "://" in storage else Path(storage))
    if not pull and not where.exists:
        echo(f"nothing is recorded in {where} yet; run a sweep first", err=True)
        raise Exit(1)
    for line in fetch(where) if pull else take(where, _bounds(keep or ())):
        echo(line)


def _bounds(keep: Sequence[str]) -> dict[str | None, int]:
    """By method; None for those that are not named."""
    bounds: dict[str | None, int] = {}
    for word in keep:
        method, _, number = word.rpartition("=")
        if not number.isdecimal():
            raise UserError(f"--keep {word}: give a number of checkpoints, such as 1 or scd=3")
        bounds[method or None] = int(number)
    return bounds
