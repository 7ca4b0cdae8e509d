import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from embedsearch.tracking import liveness
from embedsearch.tracking.liveness import Claim, is_alive
from embedsearch.tracking.store import Store

from .conftest import python


class Server:
    """A tracking server's client, as far as a heartbeat needs it."""

    def __init__(self) -> None:
        self.tags: dict[str, str] = {}
        self.beats = 0

    def set_tag(self, _run_id: str, key: str, value: str) -> None:
        self.tags[key] = value
        self.beats += 1

    def get_run(self, _run_id: str) -> SimpleNamespace:
        return SimpleNamespace(data=SimpleNamespace(tags=self.tags))


def test_a_claim_on_a_local_store(tmp_path: Path) -> None:
    store = Store.open(root=tmp_path / "mlruns")
    assert not is_alive(store, "run")
    assert list(tmp_path.iterdir()) == [], "asking makes nothing"
    claim = Claim(store, "run")
    assert is_alive(store, "run")
    assert not is_alive(store, "other")
    claim.release()
    claim.release()
    assert not is_alive(store, "run")


def test_a_killed_process_lets_go(tmp_path: Path) -> None:
    code = f"""
import time
from pathlib import Path
from embedsearch.tracking.liveness import Claim
from embedsearch.tracking.store import Store
claim = Claim(Store.open(root=Path({str(tmp_path / "mlruns")!r})), "run")
print("held", flush=True)
time.sleep(60)
"""
    store = Store.open(root=tmp_path / "mlruns")
    process = python(code)
    assert process.stdout
    assert process.stdout.readline() == "held\n"
    assert is_alive(store, "run")
    process.kill()
    process.wait()
    assert not is_alive(store, "run")


def test_a_server_store_has_a_heartbeat(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(liveness, "BEAT_S", 0.01)
    store = Store.open("http://host", storage=tmp_path)
    server = Server()
    vars(store)["client"] = server
    assert not is_alive(store, "run")
    claim = Claim(store, "run")
    assert is_alive(store, "run")
    deadline = time.monotonic() + 10
    while server.beats < 3 and time.monotonic() < deadline:
        time.sleep(0.01)
    assert server.beats >= 3, "it is renewed by itself"
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + liveness.STALE_S + 60)
    claim._ended.set()
    time.sleep(0.05)
    server.tags["embedsearch.heartbeat"] = f"{now:.0f}"
    assert not is_alive(store, "run"), "stale"


def test_a_released_claim_on_a_server_is_over(tmp_path: Path) -> None:
    store = Store.open("http://host", storage=tmp_path)
    vars(store)["client"] = Server()
    claim = Claim(store, "run")
    claim.release()
    assert not is_alive(store, "run")
