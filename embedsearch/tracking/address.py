"""Where a store is, as a user says it."""

from __future__ import annotations

import re
import urllib.error
import urllib.request
from http.client import HTTPException
from pathlib import Path
from urllib.parse import unquote

from embedsearch.errors import UserError


def database(address: str) -> Path | None:
    """The SQLite file at an address; None where a server has the store.

    Raises ``UserError`` for an address of another kind: MLflow would try a database's for a minute.
    """
    scheme, separator, rest = address.partition("://")
    if not separator:
        path = Path(address)
    elif scheme == "file":
        path = Path(unquote(rest))
    elif scheme.partition("+")[0] == "sqlite":
        return Path(unquote(rest[1:].partition("?")[0])).absolute()
    elif scheme in ("http", "https"):
        return None
    else:
        raise UserError(
            f"the store {public(address)} can't be opened: give a folder, a .db file or the http "
            "address of an MLflow server, which may have any database behind it"
        )
    return (path if path.suffix == ".db" else path / "mlflow.db").absolute()


def must_answer(uri: str) -> None:
    """Raise ``UserError`` where no server does: MLflow's own requests try for minutes."""
    address = public(uri)
    try:
        with urllib.request.urlopen(f"{address.rstrip('/')}/health", timeout=10):
            pass
    except urllib.error.HTTPError:
        pass  # something answers
    except (OSError, HTTPException, ValueError) as error:
        cause = getattr(error, "reason", error)
        why = getattr(cause, "strerror", None) or cause
        raise UserError(
            f"no MLflow server answers at {address} ({why}); start it, or name another store "
            "with --store or MLFLOW_TRACKING_URI"
        ) from error


def public(uri: str) -> str:
    """Without a user's name and password."""
    return re.sub(r"//[^/@]*@", "//", uri)
