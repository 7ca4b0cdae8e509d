"""Made-up trials, and stores to record them in."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from embedsearch.records import (
    Measurement,
    Point,
    Source,
    Status,
    Sweep,
    TrialResult,
    TrialSpec,
)
from embedsearch.tracking.store import Store
from embedsearch.tracking.writer import Writer


def make_spec(
    alpha: float = 0.1, *, seed: int = 0, corpus: str = "demo", steps: int = 20
) -> TrialSpec:
    values = {"alpha": alpha, "learning_rate": 3e-05, "batch_size": 64, "pooling": "mean"}
    return TrialSpec(
        point=Point("scd", "embedsearch.methods.scd:SCD", values),
        seed=seed,
        preset="demo",
        backbone=Source("/models/nano", "b" * 16, "nano"),
        corpus=Source(f"/data/{corpus}.txt", f"c-{corpus}", corpus),
        dev=Source("/data/dev", "d" * 16, "demo-dev"),
        total_steps=steps,
        eval_steps=10,
        device="cpu",
        precision="fp32",
        threads=1,
    )


def make_result(
    spec: TrialSpec, score: float | None = 60.0, status: Status = Status.FINISHED, **fields: object
) -> TrialResult:
    history = [Measurement(0, {"dev/spearman": 50.0})]
    if score is not None:
        history += [
            Measurement(10, {"dev/spearman": score - 1, "loss": 0.5, "loss/self": 0.2}),
            Measurement(20, {"dev/spearman": score, "loss": 0.4, "loss/self": 0.1}),
        ]
    values = {
        "start_score": 50.0,
        "best_score": score,
        "best_step": None if score is None else 20,
        "history": tuple(history),
        "seconds": 2.0,
        "device_seconds": 2.0,
    }
    return TrialResult(spec.id, status, **{**values, **fields})  # type: ignore[arg-type]


def make_sweep(*specs: TrialSpec, grid: str = "coarse", **notes: float) -> Sweep:
    return Sweep("scd", grid, "demo", specs, notes)


def record(writer: Writer, sweep: Sweep, results: dict[str, TrialResult]) -> None:
    """A sweep from start to end, as the search would tell it."""
    writer.sweep_started(sweep, {})
    for spec in sweep.specs:
        writer.trial_started(spec)
        for measurement in results[spec.id].history:
            writer.measured(spec, measurement)
        writer.trial_ended(spec, results[spec.id])
    writer.sweep_ended(sweep, results)


def record_scores(store: Store, *scores: tuple[TrialSpec, float], grid: str = "coarse") -> None:
    sweep = make_sweep(*(spec for spec, _ in scores), grid=grid)
    record(Writer(store), sweep, {spec.id: make_result(spec, score) for spec, score in scores})


def python(code: str) -> subprocess.Popen[str]:
    """Another process of this checkout; both its outputs are its ``stdout``."""
    return subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=Path(__file__).parents[2],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


@cache
def _fresh_database(base: Path) -> Path:
    store = Store.open(root=base / "fresh" / "mlruns")
    assert store.client
    assert store.database
    return store.database


@pytest.fixture(scope="session")
def fresh_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Made once, as MLflow takes seconds to make its tables."""
    return _fresh_database(tmp_path_factory.getbasetemp())


@pytest.fixture(autouse=True)
def _no_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)


@pytest.fixture
def store_at(fresh_database: Path) -> Callable[[Path], Store]:
    """A store without runs in a folder of one's choice."""

    def make(root: Path) -> Store:
        root.mkdir(parents=True, exist_ok=True)
        shutil.copy(fresh_database, root / "mlflow.db")
        return Store.open(root=root)

    return make


@pytest.fixture
def store(store_at: Callable[[Path], Store], tmp_path: Path) -> Store:
    return store_at(tmp_path / "mlruns")


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    folder = tmp_path / "work" / "best"
    folder.mkdir(parents=True)
    (folder / "model.safetensors").write_bytes(b"weights")
    return folder
