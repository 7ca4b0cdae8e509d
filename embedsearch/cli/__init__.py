"""The command line: one thin file per command, put together here."""

from __future__ import annotations

import sys


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit: 0, 1 for a failed run, 2 for a mistake in the command.

    A mistake of the user is one sentence on standard error, without a traceback.
    """
    from embedsearch.cli.app import app
    from embedsearch.errors import UserError

    try:
        app(arguments)
    except UserError as error:
        sys.stderr.write(f"error: {error}\n")
        sys.exit(2)
