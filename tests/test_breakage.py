"""Real sweeps, broken in every way we know of: the table at the end is that of an undisturbed one.

    python -m pytest -m slow tests/test_breakage.py

prints fault, times tried, lost, repeated, seconds to go on; ``test_faults.py`` stops a sweep at
each of its writes.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import socket
import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from embedsearch import trial
from embedsearch.encoder.export import is_whole
from embedsearch.place import Place
from embedsearch.records import TrialSpec
from embedsearch.tracking.server import serving
from embedsearch.tracking.store import Store
from tests.breakage import (
    ALONE,
    PRESET,
    SPACE,
    Command,
    Nodes,
    Outcome,
    halve,
    judge,
    scores,
    workers,
)

Make = Callable[..., Any]
Note = Callable[[str, dict[str, Any], float], None]
pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def table(request: pytest.FixtureRequest) -> Iterator[dict[str, list[Outcome]]]:
    rows: dict[str, list[Outcome]] = {}
    yield rows
    lines = [f"{'fault':40} tried  lost  repeated  s to go on"]
    for fault, tries in rows.items():
        lost, repeated = (sum(getattr(row, name) for row in tries) for name in ("lost", "repeated"))
        slowest = max(row.seconds for row in tries)
        lines.append(f"{fault:40} {len(tries):5} {lost:5} {repeated:9} {slowest:11.1f}")
    with request.config.pluginmanager.get_plugin("capturemanager").global_and_fixture_disabled():
        request.config.pluginmanager.get_plugin("terminalreporter").write("\n\n" + "\n".join(lines))


@pytest.fixture(scope="module")
def cluster() -> Iterator[Nodes]:
    nodes = Nodes()
    nodes.come()
    yield nodes
    nodes.end()


@pytest.fixture(scope="module")
def setting(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What all sweeps here share: a preset of seconds, and a space of three trials."""
    return tmp_path_factory.mktemp("setting")


@pytest.fixture
def wanted(make_setting: Make, setting: Path, tmp_path: Path) -> dict[str, Any]:
    """The table of a sweep that was left alone."""
    kept = setting / "wanted.json"
    if not kept.exists():
        shutil.copytree(make_setting().backbone.location, setting / "backbone")
        for name in ("corpus.txt", "dev.tsv"):
            shutil.copy(tmp_path / name, setting / name)
        (setting / "tiny.yaml").write_text(json.dumps({**PRESET, "backbone": "backbone"}))
        (setting / "search_spaces").mkdir()
        (setting / "search_spaces" / "scd.yaml").write_text(SPACE)
        alone = Path(shutil.copytree(setting, tmp_path / "alone"))
        kept.write_text(json.dumps(scores(Command(alone, code=ALONE).wait())))
    found: dict[str, Any] = json.loads(kept.read_text())
    assert len(found) == 3
    return found


@pytest.fixture
def folder(wanted: dict[str, Any], setting: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(setting, tmp_path / "sweep"))


@pytest.fixture
def note(table: dict[str, list[Outcome]], wanted: dict[str, Any], folder: Path) -> Note:
    """Judges a sweep that told so much after a fault, and writes that into the table."""

    def note(fault: str, told: dict[str, Any], seconds: float, store: str = "mlruns") -> None:
        outcome = judge(Store.open(store), told, wanted, seconds)
        table.setdefault(fault, []).append(outcome)
        assert (outcome.lost, outcome.repeated) == (0, 0), fault

    return note


@pytest.fixture(autouse=True)
def _in_the_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)


def again(folder: Path, *words: str) -> tuple[dict[str, Any], float]:
    """The same command, given again: what it told, and after how long its first trial ended."""
    command = Command(folder, *words)
    return command.wait(), command.went_on(command.begun)


@pytest.mark.parametrize("attempt", range(3))
def test_the_driver_is_killed(attempt: int, cluster: Nodes, folder: Path, note: Note) -> None:
    command = Command(folder, "--address", cluster.address)
    command.until_in_midst()
    time.sleep(random.Random(attempt).uniform(0, 2))
    command.kill()
    note("driver killed", *again(folder, "--address", cluster.address))


@pytest.mark.parametrize("attempt", range(3))
def test_a_worker_is_killed(attempt: int, cluster: Nodes, folder: Path, note: Note) -> None:
    command = Command(folder, "--address", cluster.address)
    command.until_in_midst()
    os.kill(command.until(workers)[0], signal.SIGKILL)
    since = time.monotonic()
    note("worker killed", command.wait(), command.went_on(since))


def test_the_last_node_goes_and_another_comes(cluster: Nodes, folder: Path, note: Note) -> None:
    command = Command(folder, "--address", cluster.address)
    command.until_in_midst()
    cluster.go()
    since = time.monotonic()
    time.sleep(5)
    cluster.come()
    note("node gone, another 5 s later", command.wait(), command.went_on(since))


def test_a_node_joins_while_all_runs_well(cluster: Nodes, folder: Path, note: Note) -> None:
    """What waits goes on there at once."""
    command = Command(folder, "--address", cluster.address)
    command.until_in_midst()
    cluster.come()
    since = time.monotonic()
    try:
        command.until(lambda: len(workers()) == 2)
        note("node joins", command.wait(), command.went_on(since))
    finally:
        cluster.go()


def test_no_node_is_left_for_a_minute(cluster: Nodes, folder: Path, note: Note) -> None:
    """It says which resource is missing, and goes on when a node comes."""
    command = Command(folder, "--address", cluster.address)
    command.until_in_midst()
    cluster.go()
    since = time.monotonic()
    try:
        command.until(lambda: "no node has 1 CPU (at most 0 CPU)" in command.text)
    finally:
        cluster.come()
    note("no node for a minute", command.wait(), command.went_on(since))


def test_the_store_is_locked(cluster: Nodes, folder: Path, note: Note) -> None:
    command = Command(folder, "--address", cluster.address)
    command.until_in_midst()
    with closing(sqlite3.connect("mlruns/mlflow.db", timeout=60, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        since = time.monotonic()
        time.sleep(30)
    note("store locked for 30 s", command.wait(), command.went_on(since))


def test_the_mlflow_server_is_gone_for_half_a_minute(
    cluster: Nodes, folder: Path, note: Note
) -> None:
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    local = Store.open("served")
    assert local.client
    address = f"http://127.0.0.1:{port}"
    with serving(local, "127.0.0.1", port) as server:
        command = Command(folder, "--address", cluster.address, "--store", address)
        command.until_in_midst()
        os.killpg(server.pid, signal.SIGKILL)
        since = time.monotonic()
    time.sleep(30)
    with serving(local, "127.0.0.1", port):
        told = command.wait()
        note("MLflow server gone for 30 s", told, command.went_on(since), address)


def test_the_storage_is_full(cluster: Nodes, folder: Path, note: Note) -> None:
    place = folder / "small"
    place.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", "size=40m", "tmpfs", str(place)]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"mounting is not permitted here: {done.stderr.strip()}")
    given = ("--address", cluster.address, "--storage", str(place))
    try:
        command = Command(folder, *given)
        command.until_in_midst()
        free = shutil.disk_usage(place).free
        (place / "filler").write_bytes(bytes(free - 200_000))
        command.wait(2)
        assert "No space left on device" in command.text
        (place / "filler").unlink()
        note("storage full", *again(folder, *given))
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


@pytest.mark.parametrize("name", ["state/*.safetensors", "state/progress.json", "result.json"])
def test_a_file_is_cut_in_half(name: str, cluster: Nodes, folder: Path, note: Note) -> None:
    command = Command(folder, "--address", cluster.address)
    command.until_in_midst()
    command.kill()
    for path in folder.glob(f".embedsearch/work/*/{name}"):
        halve(path)
    note(f"{name} cut", *again(folder, "--address", cluster.address))


def test_a_best_checkpoint_is_cut_in_half(cluster: Nodes, folder: Path, note: Note) -> None:
    """Of a trial that came to its end when nobody was there to take its result."""
    command = Command(folder, "--address", cluster.address)
    command.until_in_midst()
    command.kill()
    work = next(folder.glob(".embedsearch/work/*/state")).parent
    spec = TrialSpec.from_json(json.loads((work / "spec.json").read_text()))
    trial.run(spec, Place(folder / ".embedsearch"), lambda _: None)
    halve(work / "best" / "model.safetensors")
    note("best/model.safetensors cut", *again(folder, "--address", cluster.address))
    checkpoints = list(folder.glob("mlruns/artifacts/**/checkpoint"))
    assert len(checkpoints) == 3 and all(map(is_whole, checkpoints))


def test_four_sweeps_start_at_once_on_a_fresh_store(
    cluster: Nodes, folder: Path, note: Note
) -> None:
    since = time.monotonic()
    grids = ("all", "same", "all", "same")
    commands = [Command(folder, "--address", cluster.address, grid=grid) for grid in grids]
    told = [command.wait() for command in commands]
    assert all(scores(one) == scores(told[0]) for one in told)
    note("four sweeps at once", told[0], min(c.went_on(since) for c in commands))
