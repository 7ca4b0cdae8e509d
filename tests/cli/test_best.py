import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from embedsearch.cli.best import best
from embedsearch.cli.ui import ui
from embedsearch.errors import UserError
from embedsearch.records import Status
from embedsearch.tracking.store import Store
from embedsearch.tracking.writer import Writer
from tests.tracking.conftest import (
    checkpoint,
    fresh_database,
    make_result,
    make_spec,
    make_sweep,
    record,
    record_scores,
    store,
    store_at,
)

__all__ = ["checkpoint", "fresh_database", "store", "store_at"]

app = typer.Typer()
app.command()(best)
app.command()(ui)
runner = CliRunner()


def test_nothing_found_is_one_sentence_and_makes_nothing(tmp_path: Path) -> None:
    root = tmp_path / "mlruns"
    done = runner.invoke(app, ["best", "--method", "simcse", "--store", str(root)])
    assert done.exit_code == 1
    assert done.stdout == ""
    assert "run `python -m embedsearch.sweep simcse --grid search` first" in done.stderr
    assert done.stderr.count("\n") == 1
    assert not root.exists()


def test_nothing_found_in_json(tmp_path: Path) -> None:
    root = str(tmp_path / "mlruns")
    done = runner.invoke(app, ["best", "--method", "scd", "--store", root, "--json"])
    assert done.exit_code == 1
    found = json.loads(done.stdout)
    assert found["best"] == []
    assert "--grid coarse" in found["reason"]


def test_a_trial_without_a_score_is_no_best(store: Store) -> None:
    spec = make_spec()
    record(Writer(store), make_sweep(spec), {spec.id: make_result(spec, None, Status.DIVERGED)})
    done = runner.invoke(app, ["best", "--method", "scd", "--store", str(store)])
    assert done.exit_code == 1


def test_the_best_in_words_and_json(store: Store) -> None:
    record_scores(store, (make_spec(0.1), 60.0), (make_spec(0.2), 61.0))
    arguments = ["best", "--method", "scd", "--store", str(store)]
    done = runner.invoke(app, arguments)
    assert done.exit_code == 0
    assert "score: 61.00\nuntrained: 50.00\nhyperparameters: alpha=0.2\n" in done.stdout
    found = json.loads(runner.invoke(app, [*arguments, "--json", "--top", "2"]).stdout)
    assert [e["values"]["alpha"] for e in found["best"]] == [0.2, 0.1]
    assert found["best"][0]["sd"] is None
    assert found["best"][0]["why"]["sd"] == "one seed"


def test_export(store: Store, checkpoint: Path, tmp_path: Path) -> None:
    spec = make_spec()
    result = make_result(spec, checkpoint=str(checkpoint))
    record(Writer(store), make_sweep(spec), {spec.id: result})
    arguments = ["best", "--method", "scd", "--store", str(store), "--export", str(tmp_path / "o")]
    assert runner.invoke(app, arguments).exit_code == 0
    assert (tmp_path / "o" / "model.safetensors").read_bytes() == b"weights"
    again = runner.invoke(app, arguments)
    assert isinstance(again.exception, UserError)


def test_ui_of_nothing_makes_nothing(tmp_path: Path) -> None:
    done = runner.invoke(app, ["ui", "--store", str(tmp_path / "mlruns")])
    assert done.exit_code == 1
    assert "nothing is recorded" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_ui_of_a_server_is_the_server() -> None:
    done = runner.invoke(app, ["ui", "--store", "https://mlflow.example"])
    assert done.exit_code == 0
    assert done.stdout == "MLflow: https://mlflow.example\n"


@pytest.fixture(autouse=True)
def _no_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
