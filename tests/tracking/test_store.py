import os
from collections.abc import Callable
from pathlib import Path

import pytest

from embedsearch.errors import UserError
from embedsearch.tracking.ledger import StoreLedger
from embedsearch.tracking.store import Store
from embedsearch.tracking.writer import Writer

from .conftest import make_result, make_spec, make_sweep, python, record, record_scores


def test_reading_makes_nothing(tmp_path: Path) -> None:
    ledger = StoreLedger(Store.open(root=tmp_path / "mlruns"))
    spec = make_spec()
    assert ledger.results([spec]) == {}
    assert ledger.running([spec]) == frozenset()
    assert ledger.best("scd").entries == ()
    assert ledger.seconds_per_step("scd") is None
    assert ledger.sweeps.unfinished("scd", "fine") == []
    with pytest.raises(UserError, match="no trial"):
        ledger.point("abcdef")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["with space", "a#b", "50%", "20%20", "日本", "a?b=c", "it's"])
def test_folder_names(name: str, store_at: Callable[[Path], Store], tmp_path: Path) -> None:
    store = store_at(tmp_path / name / "mlruns")
    spec = make_spec()
    record_scores(store, (spec, 61.0))
    assert StoreLedger(store).results([spec])[spec.id].best_score == 61.0
    assert sorted(p.name for p in tmp_path.iterdir()) == [name]


def test_a_moved_store_opens(store: Store, tmp_path: Path, checkpoint: Path) -> None:
    spec = make_spec()
    result = make_result(spec, checkpoint=str(checkpoint))
    record(Writer(store), make_sweep(spec), {spec.id: result})
    (tmp_path / "mlruns").rename(tmp_path / "elsewhere")
    ledger = StoreLedger(Store.open(str(tmp_path / "elsewhere")))
    leader = ledger.best("scd").entries[0].leader
    assert leader.checkpoint
    assert (Path(leader.checkpoint) / "model.safetensors").read_bytes() == b"weights"
    assert Path(leader.checkpoint).is_relative_to(tmp_path / "elsewhere")
    assert ledger.point(leader.run_id[:6]) == spec.point
    record_scores(Store.open(str(tmp_path / "elsewhere")), (make_spec(0.2), 62.0))


def test_two_first_openings_at_once(tmp_path: Path) -> None:
    code = f"""
from pathlib import Path
from embedsearch.tracking.store import Store
store = Store.open(root=Path({str(tmp_path / "mlruns")!r}))
with store.writing():
    store.experiment("scd")
"""
    both = [python(code) for _ in range(2)]
    outputs = [process.communicate()[0] for process in both]
    assert [process.returncode for process in both] == [0, 0], outputs
    assert outputs == ["", ""], "MLflow's talk about its tables"


def test_the_address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert Store.open().database == tmp_path / "mlruns" / "mlflow.db"
    assert Store.open().storage == tmp_path / ".embedsearch"
    assert Store.open("runs").database == tmp_path / "runs" / "mlflow.db"
    assert Store.open("runs/my.db").database == tmp_path / "runs" / "my.db"
    assert Store.open("sqlite:///runs/a b.db").database == tmp_path / "runs" / "a b.db"
    assert Store.open("http://host:5000").database is None
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "sqlite:////other/mlflow.db")
    assert Store.open().database == Path("/other/mlflow.db")
    assert Store.open("runs").database == tmp_path / "runs" / "mlflow.db"


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    store = Store.open(root=tmp_path / "file" / "mlruns")
    with pytest.raises(UserError, match=r"can't open the store .*--store"):
        assert store.client


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_store_is_read_but_not_written(store: Store) -> None:
    record_scores(store, (make_spec(), 61.0))
    assert store.database
    store.database.chmod(0o444)
    store.database.parent.chmod(0o555)
    assert StoreLedger(store).best("scd").entries
    with pytest.raises(UserError, match="readonly"):
        record_scores(store, (make_spec(0.2), 62.0))


def test_a_file_that_is_no_database(tmp_path: Path) -> None:
    (tmp_path / "mlflow.db").write_text("not a database at all, but long enough for its header")
    with pytest.raises(UserError, match="not a database"):
        StoreLedger(Store.open(str(tmp_path))).best("scd")


def test_a_server_that_does_not_answer() -> None:
    with pytest.raises(UserError, match=r"answers at http://127.0.0.1:9 \(Connection refused\); "):
        StoreLedger(Store.open("http://127.0.0.1:9")).best("scd")


@pytest.mark.parametrize("address", ["postgresql://me:secret@127.0.0.1:1/x", "htp://host:5000"])
def test_an_address_of_another_kind_is_refused_before_mlflow_tries_it(address: str) -> None:
    with pytest.raises(UserError) as refused:
        Store.open(address)
    assert str(refused.value) == (
        f"the store {address.replace('me:secret@', '')} can't be opened: give a folder, a .db file "
        "or the http address of an MLflow server, which may have any database behind it"
    )


def test_a_password_is_not_printed() -> None:
    store = Store.open("http://me:secret@127.0.0.1:9")
    assert str(store) == "http://127.0.0.1:9"
    with pytest.raises(UserError, match=r"answers at http://127.0.0.1:9 "):
        assert store.client


def test_a_deleted_experiment_is_named(store: Store) -> None:
    with store.writing():
        experiment = store.experiment("scd")
        store.client.delete_experiment(experiment)
        with pytest.raises(UserError, match="mlflow experiments restore"):
            store.experiment("scd")
    assert StoreLedger(store).best("scd").entries == ()


def test_importing_the_room_does_not_import_mlflow() -> None:
    code = "import sys, embedsearch.tracking.writer, embedsearch.tracking.ledger; " + (
        "print([m for m in ('mlflow', 'torch', 'sqlalchemy') if m in sys.modules])"
    )
    assert python(code).communicate()[0].strip() == "[]"
