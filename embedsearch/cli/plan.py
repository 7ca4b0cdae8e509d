"""``embedsearch plan METHOD --grid G``: what a sweep would run, and what it would cost."""

from __future__ import annotations

from embedsearch.cli.options import Choices, Store, choosing


@choosing()
def plan(choices: Choices, store: Store = None) -> None:
    """Print a grid's trials, which of them are done, and what the rest will cost; run nothing."""
    from embedsearch.cli.outlook import show_plan

    show_plan(choices, store)
