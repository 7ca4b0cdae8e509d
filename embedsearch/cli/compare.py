"""``embedsearch compare METHOD…``: which method is better, and how sure that is."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Exit, Option

from embedsearch.cli import options


def compare(
    methods: Annotated[list[str], Argument(help="scd, simcse, frozen, or spaces of your own.")],
    preset: Annotated[str | None, Option(help="Only trials of this preset.")] = None,
    backbone: Annotated[
        str | None, Option(metavar="NAME|FOLDER", help="Only trials on this backbone.")
    ] = None,
    dev: Annotated[
        str | None, Option(metavar="NAME", help="Only trials on these dev pairs.")
    ] = None,
    figure: Annotated[
        Path | None, Option(metavar="FILE", help="Draw the expected best over its cost: a .png.")
    ] = None,
    store: options.Store = None,
    json: options.Json = False,
) -> None:
    """Compare methods at equal budgets and by their confirmed means, with a verdict on each two.

    Of the trials on record; nothing is run. `embedsearch confirm` makes the verdicts surer.
    """
    from embedsearch.cli.contenders import show_contenders

    filters = {"preset": preset, "backbone": backbone, "dev": dev}
    raise Exit(show_contenders(methods, filters, figure=figure, store=store, as_json=json))
