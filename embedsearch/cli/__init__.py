"""The command line: one thin file per command, put together here."""

from __future__ import annotations

import errno
import signal
import sys
import threading
from pathlib import Path

from embedsearch.interruption import as_ctrl_c


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit: 0, 1 for a failed run, 2 for a mistake in the command, 130
    when it was stopped; SIGTERM is as good as Ctrl-C.

    A mistake of the user is one sentence on standard error, without a traceback.
    """
    if "" not in sys.path and str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))  # a method of one's own, as with python -m
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, as_ctrl_c)
    from embedsearch.errors import UserError

    try:
        from embedsearch.cli.app import app

        app(arguments)
    except KeyboardInterrupt:
        sys.exit(130)
    except UserError as error:
        sys.stderr.write(f"error: {error}\n")
        sys.exit(2)
    except OSError as error:
        if error.errno not in _UNWRITABLE:
            raise
        place = error.filename or "a folder that is written to"
        sys.stderr.write(
            f"error: {place}: {error.strerror}; make room or mend that, or name another place (its "
            "options are in --help), and give the same command again\n"
        )
        sys.exit(2)


_UNWRITABLE = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM)
