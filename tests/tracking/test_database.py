"""What is read off MLflow's tables is what MLflow's own client says."""

from pathlib import Path

import pytest

from embedsearch.records import Status
from embedsearch.tracking import database, runs
from embedsearch.tracking.store import Store
from embedsearch.tracking.stored import Query, StoredRun
from embedsearch.tracking.writer import Writer

from .conftest import make_result, make_spec, make_sweep, python, record, record_scores


@pytest.fixture
def filled(store: Store) -> Store:
    """Two sweeps, a diverged trial, a running one, a deleted one, and runs of somebody else."""
    record_scores(store, (make_spec(0.1), 60.0), (make_spec(0.2), 1 / 3))
    bad = make_spec(0.3)
    sweep = make_sweep(bad, grid='it\'s "odd" %')
    failed = make_result(bad, None, Status.DIVERGED, reason="NaN \u00e9\u4e2d")
    record(Writer(store), sweep, {bad.id: failed})
    writer = Writer(store)
    writer.sweep_started(make_sweep(make_spec(0.4)), {})
    writer.trial_started(make_spec(0.4))
    client = store.client
    [other] = [client.create_experiment(name) for name in ("another",)]
    foreign = client.create_run(other).info.run_id
    for value in (1.0, float("nan"), float("inf")):
        client.log_metric(foreign, f"metric {value}", value)
    client.delete_run(client.create_run(other).info.run_id)
    client.delete_experiment(client.create_experiment("gone"))
    return store


def by_mlflow(store: Store, query: Query) -> list[StoredRun]:
    return list(store._from_server(query))


def sorted_(found: list[StoredRun]) -> list[StoredRun]:
    return sorted(found, key=lambda run: run.run_id)


def test_all_runs(filled: Store) -> None:
    assert filled.database
    found = database.read(filled.database, Query())
    assert len(found) == 8
    assert sorted_(found) == sorted_(by_mlflow(filled, Query()))
    starts = [run.started_ms for run in found]
    assert starts == sorted(starts, reverse=True)


@pytest.mark.parametrize(
    "query",
    [
        Query("scd"),
        Query("scd", tags={"kind": "trial"}),
        Query("scd", tags={"kind": "trial", "status": "finished"}),
        Query(tags={"spec_id": make_spec(0.2).id}),
        Query(status="RUNNING"),
        Query("another", status="RUNNING"),
        Query("nothing"),
        Query("gone"),
        Query(tags={"kind": "neither"}),
        Query("scd", spec_ids=[make_spec(0.1).id, make_spec(0.3).id, "of no trial"]),
        Query("scd", spec_ids=["of no trial"]),
    ],
)
def test_what_is_asked_for(filled: Store, query: Query) -> None:
    assert filled.database
    found = database.read(filled.database, query)
    assert sorted_(found) == sorted_(by_mlflow(filled, query))


def test_by_the_beginning_of_the_id(filled: Store) -> None:
    whole = filled.search(kind="trial")[0].run_id
    for length in (8, 32):
        query = Query(run_id=whole[:length])
        assert filled.search(run_id=whole[:length]) == by_mlflow(filled, query)


def test_the_latest(filled: Store) -> None:
    whole = filled.search("scd", kind="trial")
    assert filled.search("scd", limit=2, kind="trial") == whole[:2]
    assert len(by_mlflow(filled, Query("scd", limit=2, tags={"kind": "trial"}))) >= 2


def test_experiments(filled: Store) -> None:
    names = [experiment.name for experiment in filled.client.search_experiments()]
    assert filled.methods() == sorted(names)


def test_reading_needs_no_mlflow(filled: Store) -> None:
    assert filled.database
    code = f"""
import sys
from embedsearch.tracking.ledger import StoreLedger
from embedsearch.tracking.store import Store
ranking = StoreLedger(Store.open({str(filled.database.parent)!r})).best("scd")
assert ranking.entries[0].mean == 60.0
assert "mlflow" not in sys.modules
"""
    process = python(code)
    said, _ = process.communicate()
    assert process.returncode == 0, said


def test_a_half_written_change_is_rolled_back(filled: Store, tmp_path: Path) -> None:
    """A writer that was killed in a commit leaves a journal; the reader sees the state before."""
    assert filled.database
    before = filled.search()
    code = f"""
import os, sqlite3
connection = sqlite3.connect({str(filled.database)!r}, isolation_level=None)
connection.execute("PRAGMA cache_size = 1")
connection.execute("PRAGMA cache_spill = 1")
connection.execute("BEGIN IMMEDIATE")
connection.execute("UPDATE tags SET value = value || zeroblob(4000)")
os._exit(9)
"""
    assert python(code).wait() == 9
    assert Path(f"{filled.database}-journal").stat().st_size
    assert filled.search() == before
    assert filled.search(kind="trial")[0].tags[runs.KIND] == "trial"
