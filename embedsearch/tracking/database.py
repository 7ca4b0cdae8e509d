"""The SQLite file of a local store: made by MLflow, and read without it.

MLflow's client takes a second and a half to import and a millisecond for each run it returns, so
commands that only read go to its tables themselves. ``tests/tracking/test_database.py`` holds that
both say the same of the same store. All writing goes through MLflow.
"""

from __future__ import annotations

import json
import sqlite3
from collections import defaultdict
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from embedsearch.durable import write_whole
from embedsearch.tracking.stored import PREFIX, SPEC_ID, Query, StoredRun

_LOCKED_S = 240.0

Open = Callable[[str], Any]
"""Has MLflow open a database by its address, and make its tables where there are none."""


def address(database: Path) -> str:
    """As MLflow takes it; the driver named, as it makes the parent of the quoted path otherwise."""
    quoted = str(database).replace("%", "%25").replace("?", "%3F")
    return f"sqlite+pysqlite:///{quoted}"


def is_ready(database: Path) -> bool:
    """Whether MLflow has made its tables; the default experiment is what it makes last.

    Raises ``sqlite3.Error`` for a file that is no such database.
    """
    if not database.is_file():
        return False
    try:
        with closing(_connected(database)) as connection:
            return connection.execute("SELECT 1 FROM experiments").fetchone() is not None
    except sqlite3.OperationalError as error:
        if "no such table" in str(error):
            return False
        raise


def make(database: Path, open_: Open) -> None:
    """Have MLflow make its tables, whole or not at all: half of them it could not go on from."""
    if database.exists() and database.stat().st_size:
        open_(address(database))
    else:
        write_whole(database, lambda draft: _make_tables(draft, open_))


def check_writable(database: Path) -> None:
    """Fail at once: MLflow tries for a minute and a half, and logs each try.

    But for a database that another process has locked: as long as for a server that is gone, where
    MLflow itself waits for 20 s.
    """
    with closing(sqlite3.connect(database, timeout=_LOCKED_S)) as connection:
        connection.execute("BEGIN IMMEDIATE")


def read(database: Path, query: Query) -> list[StoredRun]:
    """The runs that meet ``query``, the latest first."""
    chosen, values = _chosen(query)
    with closing(_connected(database)) as connection:
        connection.row_factory = sqlite3.Row
        connection.execute("BEGIN")  # one state of it for all tables
        runs = connection.execute(chosen, values).fetchall()
        ids = json.dumps([run["run_id"] for run in runs])
        tags, params, metrics = (
            _by_run(connection, rows, ids)
            for rows in ("tags WHERE", "params WHERE", "latest_metrics WHERE NOT is_nan AND")
        )
    return [
        StoredRun(**dict(run), tags=tags[id_], params=params[id_], metrics=metrics[id_])
        for run in runs
        for id_ in [run["run_id"]]
    ]


def methods(database: Path) -> list[str]:
    """The names of all experiments."""
    with closing(_connected(database)) as connection:
        found = connection.execute(
            "SELECT name FROM experiments WHERE lifecycle_stage = 'active' ORDER BY name"
        )
        return [name for (name,) in found]


def _connected(database: Path) -> sqlite3.Connection:
    """Writable where it can be, so that what a killed writer left is rolled back; never made."""
    return sqlite3.connect(f"{database.as_uri()}?mode=rw", uri=True, timeout=30)


def _chosen(query: Query) -> tuple[str, list[str]]:
    """A ``SELECT`` of the runs, and the values of its placeholders."""
    text = (
        "SELECT run_uuid AS run_id, runs.name AS name, experiments.name AS method, status, "
        "start_time AS started_ms, end_time AS ended_ms, artifact_uri "
        "FROM runs JOIN experiments USING (experiment_id) "
        "WHERE runs.lifecycle_stage = 'active' AND experiments.lifecycle_stage = 'active'"
    )
    values = []
    for column, value in (("experiments.name", query.method), ("status", query.status)):
        if value is not None:
            text += f" AND {column} = ?"
            values.append(value)
    if query.run_id:
        text += " AND run_uuid LIKE ?"
        values.append(f"{query.run_id}%")
    for name, value in query.tags.items():
        text += " AND run_uuid IN (SELECT run_uuid FROM tags WHERE key = ? AND value = ?)"
        values += [f"{PREFIX}{name}", value]
    if query.spec_ids:
        text += (
            " AND run_uuid IN (SELECT run_uuid FROM tags WHERE key = ?"
            " AND value IN (SELECT value FROM json_each(?)))"
        )
        values += [SPEC_ID, json.dumps(list(query.spec_ids))]
    text += " ORDER BY started_ms DESC, run_id"
    if query.limit is not None:
        text += f" LIMIT {query.limit}"
    return text, values


def _by_run(connection: sqlite3.Connection, rows: str, ids: str) -> dict[str, dict[str, Any]]:
    """Keys and values of the runs ``ids`` (JSON), off ``rows``: a table and a condition's start."""
    found: dict[str, dict[str, Any]] = defaultdict(dict)
    of_those = (
        f"SELECT run_uuid, key, value FROM {rows} run_uuid IN (SELECT value FROM json_each(?))"
    )
    for run, key, value in connection.execute(of_those, [ids]):
        found[run][key] = value
    return found


def _make_tables(draft: Path, open_: Open) -> None:
    for kind in ("journal", "wal", "shm"):  # of a killed process: SQLite would play them back
        draft.with_name(f"{draft.name}-{kind}").unlink(missing_ok=True)
    open_(address(draft))
    from mlflow.store.tracking.sqlalchemy_store import SqlAlchemyStore

    engine = SqlAlchemyStore._engine_map.pop(address(draft), None)
    if engine is not None:
        engine.dispose()
