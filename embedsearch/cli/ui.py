"""``embedsearch ui``: MLflow in the browser, on this project's store."""

from __future__ import annotations

import signal
from typing import Annotated

from typer import Exit, Option, echo

from embedsearch.cli import options


def ui(
    port: Annotated[int, Option(min=1, max=65535, help="To listen on.")] = 5000,
    host: Annotated[
        str, Option(help="To listen on; any other than the default is seen by the network.")
    ] = "127.0.0.1",
    store: options.Store = None,
) -> None:
    """Compare trials in the browser: sweeps with their trials nested, until Ctrl-C."""
    from embedsearch.tracking.server import address, serving
    from embedsearch.tracking.store import Store

    where = Store.open(store)
    if where.database is None:
        echo(f"MLflow: {where}")
        return
    if not where.exists:
        echo(f"nothing is recorded in {where} yet; run a sweep first", err=True)
        raise Exit(1)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with serving(where, host, port) as process:
            echo(f"MLflow: {address(host, port)} on {where} (Ctrl-C ends it)")
            raise Exit(process.wait() and 1)
    except KeyboardInterrupt:
        return
