"""Commands whose work in progress lies in a bucket."""

import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from embedsearch import objects, sources
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


def test_a_bucket_that_goes_away_ends_the_sweep(
    run: Run, bucket: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those after it would fail likewise, and be charged."""
    monkeypatch.setattr(objects, "PAUSES_S", ())
    code, out, _ = run(*SWEEP, "--store", "plain")
    given = (*SWEEP, "--storage", f"file://{bucket}")
    with monkeypatch.context() as patch:
        upload = objects.Objects._upload

        def until_the_second(self: objects.Objects, source: Path, path: str) -> Any:
            if len(list(Path("mlruns").rglob("modules.json"))) == 1:
                raise OSError("no route to host")
            return upload(self, source, path)

        patch.setattr(objects.Objects, "_upload", until_the_second)
        code, _, err = run(*given)
    assert code == 2 and "Traceback" not in err
    said = err.splitlines()[-1]
    assert said.startswith("error: the sweep ends here") and "no route to host" in said
    code, again, err = run(*given)
    assert code == 0 and "1 known, 1 to run" in err and table(again) == table(out)


def test_plan_and_snapshot_take_a_bucket(run: Run, bucket: Path) -> None:
    assert run(*("plan", *SWEEP[1:-1]), "--storage", f"file://{bucket}")[0] == 0
    code, _, err = run("snapshot", "--storage", f"file://{bucket}")
    assert code == 1 and "nothing is recorded" in err
