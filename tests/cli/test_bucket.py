"""Commands whose work in progress lies in a bucket."""

import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from embedsearch import sources
from embedsearch.sweep import search
from tests import here
from tests.cli.test_commands import run

__all__ = ["run"]

Run = Callable[..., tuple[int, str, str]]
SWEEP = ("sweep", "scd", "--preset", "tiny.yaml", "--max-trials", "2", "--json")


@pytest.fixture
def bucket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    sources._publish.cache_clear()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    monkeypatch.setattr(search, "run_trials", here.run_trials)
    monkeypatch.setattr(search, "connected", here.REPLACED["connected"])
    return tmp_path / "bucket"


def files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def table(out: str) -> Any:
    return [[t["spec_id"], t["score"], t["step"]] for t in json.loads(out)["ranked"]]


def test_one_trial_without_a_cluster(run: Run, bucket: Path) -> None:
    code, out, err = run("train", "scd", "--preset", "tiny.yaml", "--storage", f"file://{bucket}")
    assert code == 0, err
    [line] = [line for line in out.splitlines() if line.startswith("work in progress")]
    assert f"file://{bucket}, on each node under" in line
    code, out, _ = run("best", "--method", "scd", "--json")
    assert Path(json.loads(out)["best"][0]["checkpoint"], "modules.json").is_file()
    assert not files(bucket)
    assert not Path(".embedsearch", "work").exists()


def test_a_sweep_ends_as_in_a_folder(
    run: Run, bucket: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    code, out, err = run(*SWEEP, "--store", "plain")
    assert code == 0 and "work in progress" not in err, err
    with caplog.at_level(logging.WARNING):
        code, again, err = run(*SWEEP, "--store", "mlruns", "--storage", f"file://{bucket}")
    assert code == 0 and "work in progress in" in err, err
    assert table(again) == table(out) and not caplog.text
    assert not files(bucket)
    left = [path.name for path in files(tmp_path / "caches") if path.parts[-3] == "work"]
    assert set(left) <= {"lock", "spec.json"}
    code, third, err = run(*SWEEP, "--storage", f"file://{bucket}")
    assert code == 0 and "2 known, 0 to run" in err and table(third) == table(out)


def test_plan_and_snapshot_take_a_bucket(run: Run, bucket: Path) -> None:
    assert run(*("plan", *SWEEP[1:-1]), "--storage", f"file://{bucket}")[0] == 0
    code, _, err = run("snapshot", "--storage", f"file://{bucket}")
    assert code == 1 and "nothing is recorded" in err
