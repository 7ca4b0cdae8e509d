"""The real command over Ray, stopped by signals; and several of them at once on one fresh store."""

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from embedsearch.tracking.store import Store

Make = Callable[..., Any]
pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
SPACE = "method: embedsearch.methods.scd:SCD\ngrids:\n"
GRID = "  {name}:\n    values:\n      alpha: {alphas}\n"
GRIDS = {
    "one": [0.1, 0.2, 0.3, 0.4],
    "two": [0.3, 0.4, 0.5, 0.6],
    "three": [0.1, 0.3, 0.5],
    "four": [0.6, 0.5, 0.4, 0.3],
}


@pytest.fixture
def folder(make_setting: Make, tmp_path: Path) -> Path:
    """A folder with a preset of seconds and a space of overlapping grids."""
    preset = {
        "backbone": make_setting().backbone.location,
        "corpus": str(tmp_path / "corpus.txt"),
        "dev": str(tmp_path / "dev.tsv"),
        "steps": 200,
        "eval_steps": 50,
        "values": {"batch_size": 4, "pooling": "mean"},
        "methods": {"scd": {"values": {"projector_dim": 8}}},
    }
    (tmp_path / "tiny.yaml").write_text(json.dumps(preset))
    (tmp_path / "search_spaces").mkdir()
    grids = [GRID.format(name=name, alphas=alphas) for name, alphas in GRIDS.items()]
    (tmp_path / "search_spaces" / "scd.yaml").write_text(SPACE + "".join(grids))
    return tmp_path


def sweep(folder: Path, grid: str, store: str = "mlruns") -> subprocess.Popen[str]:
    storage = str(folder / f"{store}-work")
    words = ["scd", "--grid", grid, "--preset", "tiny.yaml", "--json", "--store", store]
    return subprocess.Popen(
        [sys.executable, "-m", "embedsearch.sweep", *words, "--storage", storage],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def ended(process: subprocess.Popen[str]) -> tuple[int, Any, str]:
    out, err = process.communicate(timeout=400)
    assert "Traceback" not in err, err
    return process.returncode, json.loads(out) if out else None, err


def scores(told: Any) -> dict[str, float]:
    return {trial["spec_id"]: trial["score"] for trial in told["ranked"]}


def check_store(folder: Path, store: str, trials: int) -> None:
    """Each trial has one run, tried once, and nothing is running."""
    found = Store.open(str(folder / store))
    runs = found.search("scd")
    assert {run.status for run in runs} == {"FINISHED"}
    specs = Counter(run.tags.get("embedsearch.spec_id") for run in runs)
    del specs[None]
    assert len(specs) == trials and set(specs.values()) == {1}
    for run in runs:
        for name in run.metrics:
            history = found.client.get_metric_history(run.run_id, name)
            steps = [metric.step for metric in history]
            assert len(set(steps)) == len(steps), (name, steps)
            assert name != "seconds" or len(steps) == 1, "it ran twice"


def until_a_trial_ended(process: subprocess.Popen[str]) -> None:
    assert process.stderr
    for line in process.stderr:
        if "(untrained" in line:
            return
    raise AssertionError("no trial ended")


@pytest.mark.parametrize(
    ("numbers", "codes"),
    [((signal.SIGINT,), {130}), ((signal.SIGINT,) * 2, {130}), ((signal.SIGTERM,), {130})],
    ids=["Ctrl-C", "Ctrl-C twice", "SIGTERM"],
)
def test_signals_stop_it_and_the_same_command_goes_on(
    numbers: tuple[int, ...], codes: set[int], folder: Path
) -> None:
    process = sweep(folder, "one")
    until_a_trial_ended(process)
    for number in numbers:
        os.kill(process.pid, number)
        time.sleep(0.3)
    code, told, err = ended(process)
    assert code in codes, err
    assert told["not_run"] > 0
    code, again, err = ended(sweep(folder, "one"))
    assert code == 0 and " 0 known" not in err, err
    code, alone, err = ended(sweep(folder, "one", "alone"))
    assert code == 0, err
    assert scores(again) == scores(alone)
    check_store(folder, "mlruns", 4)


def test_a_killed_raylet_is_said_and_the_same_command_goes_on(folder: Path) -> None:
    process = sweep(folder, "one")
    until_a_trial_ended(process)
    raylet = subprocess.check_output(["pgrep", "-P", str(process.pid), "-f", "raylet/raylet"])
    os.kill(int(raylet), signal.SIGKILL)
    code, _, err = ended(process)
    assert code != 0
    assert "error: Ray was lost" in err and "give the same command again" in err
    code, again, err = ended(sweep(folder, "one"))
    assert code == 0 and " 0 known" not in err, err
    check_store(folder, "mlruns", len(scores(again)))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_before_anything_runs(number: int, folder: Path) -> None:
    process = sweep(folder, "one")
    time.sleep(1.5)
    os.kill(process.pid, number)
    code, _, err = ended(process)
    assert code == 130 or (code == -number and not err), err  # Python itself had not started


@pytest.mark.parametrize("grids", [("one", "two"), tuple(GRIDS)], ids=["two", "four"])
def test_sweeps_at_once_on_a_fresh_store(grids: tuple[str, ...], folder: Path) -> None:
    told = [ended(process) for process in [sweep(folder, grid) for grid in grids]]
    assert [code for code, _, _ in told] == [0] * len(grids), told
    alphas = {alpha for grid in grids for alpha in GRIDS[grid]}
    found: dict[str, float] = {}
    for _, result, _ in told:
        assert found.items() & scores(result).items() == {
            item for item in found.items() if item[0] in scores(result)
        }
        found |= scores(result)
    assert len(found) == len(alphas)
    check_store(folder, "mlruns", len(alphas))
