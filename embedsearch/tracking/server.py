"""MLflow's own user interface on a local store, in a process of its own."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from ipaddress import ip_address
from pathlib import Path

from embedsearch.errors import UserError
from embedsearch.tracking.store import Store

_START_S = 120.0
_STOP_S = 10.0
_LIGHT = {"MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false", "MLFLOW_DISABLE_TELEMETRY": "true"}


@contextmanager
def serving(store: Store, host: str, port: int) -> Iterator[subprocess.Popen[bytes]]:
    """The server's process, once it answers; it is gone when the block ends.

    Raises ``UserError`` where the port can't be had or the server does not come up.
    """
    _check_port(host, port)
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(
            _command(store, host, port),
            env={**os.environ, **_LIGHT},
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            if not _comes_up(process, host, port):
                log.seek(0)
                said = log.read().decode(errors="replace").strip().splitlines()[-1:] or ["nothing"]
                raise UserError(f"the MLflow server did not start; it said: {said[0]}")
            yield process
        finally:
            _stop(process)


def address(host: str, port: int) -> str:
    """What to type into a browser on this machine."""
    return f"http://{'127.0.0.1' if _is_everywhere(host) else host}:{port}"


def _command(store: Store, host: str, port: int) -> list[str]:
    names = {"localhost", "127.0.0.1", host}
    if _is_everywhere(host):
        names |= {socket.gethostname(), socket.getfqdn()}
    hosts = ",".join(f"{name}:{port}" for name in sorted(names))
    artifacts = store.artifacts or Path("mlartifacts")
    return [
        sys.executable, "-m", "mlflow", "server",
        "--backend-store-uri", store.uri,
        "--artifacts-destination", artifacts.as_uri(),
        "--host", host,
        "--port", str(port),
        "--workers", "1",
        "--allowed-hosts", hosts,
    ]  # fmt: skip


def _check_port(host: str, port: int) -> None:
    try:
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((host, port))
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error)
        raise UserError(
            f"can't listen on {host} port {port}: {reason}; give another one with --port"
        ) from error


def _comes_up(process: subprocess.Popen[bytes], host: str, port: int) -> bool:
    deadline = time.monotonic() + _START_S
    while process.poll() is None and time.monotonic() < deadline:
        try:
            with urllib.request.urlopen(f"{address(host, port)}/health", timeout=5):
                return True
        except OSError:
            time.sleep(0.2)
    return False


def _is_everywhere(host: str) -> bool:
    """Whether it stands for every address of this machine."""
    try:
        return ip_address(host).is_unspecified
    except ValueError:
        return False


def _stop(process: subprocess.Popen[bytes]) -> None:
    """The whole session: MLflow's command, its server and their workers."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
            process.wait(_STOP_S)
        except ProcessLookupError:
            return
        except subprocess.TimeoutExpired:
            continue
