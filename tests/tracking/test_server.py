import socket
from pathlib import Path

import pytest

from embedsearch.errors import UserError
from embedsearch.tracking import server
from embedsearch.tracking.store import Store


def test_a_port_that_is_taken_is_named(store: Store) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with (
            pytest.raises(UserError, match=rf"port {port}: .*--port"),
            server.serving(store, "127.0.0.1", port),
        ):
            pass


def test_the_command_is_light_and_local(tmp_path: Path) -> None:
    store = Store.open(root=tmp_path / "a b" / "mlruns")
    command = server._command(store, "127.0.0.1", 5000)
    options = dict(zip(command[4::2], command[5::2], strict=True))
    assert options["--host"] == "127.0.0.1"
    assert options["--workers"] == "1"
    assert options["--allowed-hosts"] == "127.0.0.1:5000,localhost:5000"
    assert options["--backend-store-uri"] == store.uri
    assert options["--artifacts-destination"].endswith("/a%20b/mlruns/artifacts")


@pytest.mark.slow
def test_it_serves_and_ends(store: Store) -> None:
    import urllib.request

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with server.serving(store, "127.0.0.1", port) as process:
        request = urllib.request.Request(f"http://127.0.0.1:{port}/", headers={"Host": "evil"})
        with pytest.raises(urllib.error.HTTPError, match="403"):
            urllib.request.urlopen(request)
    assert process.poll() is not None


def test_a_server_that_dies_says_why(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setattr(
        server, "_command", lambda *_: [sys.executable, "-c", "raise SystemExit('no memory')"]
    )
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with (
        pytest.raises(UserError, match="did not start; it said: no memory"),
        server.serving(store, "127.0.0.1", port),
    ):
        pass
