"""A real sweep over nodes that share no folder, only a bucket, while they come and go.

python -m pytest -m slow tests/test_shared_nothing.py
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from embedsearch.objects import Objects
from tests.breakage import Command, Nodes
from tests.test_breakage import (
    Note,
    _in_the_folder,
    cluster,
    folder,
    note,
    setting,
    table,
    wanted,
)

__all__ = ["_in_the_folder", "cluster", "folder", "note", "setting", "table", "wanted"]

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

KEYS = {
    "AWS_ACCESS_KEY_ID": "somebody",
    "AWS_SECRET_ACCESS_KEY": "secret",
    "AWS_EC2_METADATA_DISABLED": "true",
}


@pytest.fixture
def in_folder(folder: Path) -> str:
    """A bucket that is a folder; the nodes see no other of each other's."""
    return f"file://{folder}/bucket"


@pytest.fixture
def in_s3(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A bucket behind S3's own interface, on loopback."""
    server = pytest.importorskip("moto.server", reason="moto is not installed (the bench extra)")
    serving = server.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    serving.start()
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    host, port = serving.get_host_and_port()
    query = f"endpoint_override={host}:{port}&scheme=http&region=us-east-1"
    filesystem, _ = Objects(f"s3://sweeps?{query}&allow_bucket_creation=true").opened
    filesystem.create_dir("sweeps")
    yield f"s3://sweeps/mine?{query}"
    serving.stop()


@pytest.fixture(params=["in_folder", "in_s3"])
def bucket(request: pytest.FixtureRequest) -> Objects:
    return Objects(request.getfixturevalue(request.param))


@pytest.fixture
def come(cluster: Nodes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Nodes with a home of their own, as they are in the cluster from now on."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "head"))
    number = 0

    def do() -> None:
        nonlocal number
        number += 1
        cluster.come(env_vars={"XDG_CACHE_HOME": str(tmp_path / f"node {number}"), **KEYS})  # type: ignore[arg-type]

    do()
    cluster.go()
    yield do
    while cluster.held:
        cluster.go()
    cluster.come()


def states(bucket: Objects) -> list[str]:
    """The manifests of all states."""
    found = []
    for spec_id in bucket.names("work"):
        entries = bucket.names(f"work/{spec_id}/state")
        found += [f"work/{spec_id}/state/{name}" for name in entries if name.endswith(".json")]
    return sorted(found)


def in_midst(command: Command, bucket: Objects) -> None:
    """A trial has ended, and another one has a state to go on from."""
    command.until(lambda: command.ends() and states(bucket))


def given(cluster: Nodes, bucket: Objects) -> tuple[str, ...]:
    return ("--address", cluster.address, "--storage", bucket.address)


def leaves_nothing(bucket: Objects, machines: Path) -> None:
    """In the bucket; and each machine had a folder of its own."""
    for part in ("work", "ray"):
        assert bucket.names(part) == set()
    assert len(list(machines.glob("*/embedsearch/*/sources"))) == 2


def test_a_node_goes_and_another_one_comes(
    cluster: Nodes, come: Callable[[], None], bucket: Objects, folder: Path, note: Note,
    tmp_path: Path,
) -> None:  # fmt: skip
    command = Command(folder, *given(cluster, bucket))
    in_midst(command, bucket)
    come()
    cluster.go()
    fault = time.monotonic()
    told = command.wait()
    note(f"node lost, {bucket.address[:4]}", told, command.went_on(fault))
    leaves_nothing(bucket, tmp_path)


def test_the_command_is_killed_and_a_state_cut(
    cluster: Nodes, come: Callable[[], None], bucket: Objects, folder: Path, note: Note,
    tmp_path: Path,
) -> None:  # fmt: skip
    command = Command(folder, *given(cluster, bucket))
    in_midst(command, bucket)
    command.kill()
    time.sleep(5)  # its trials end with it
    for manifest in states(bucket):
        whole = bucket.read(manifest)
        bucket.write(manifest, whole[: len(whole) // 2])
        break
    again = Command(folder, *given(cluster, bucket))
    told: dict[str, Any] = again.wait()
    note(f"killed and cut, {bucket.address[:4]}", told, again.went_on(again.begun))
