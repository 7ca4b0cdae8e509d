"""A Ray cluster, joined or made, and what it can hold."""

from __future__ import annotations

import logging
import os
import signal
import socket
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread
from typing import Any

from embedsearch.errors import UserError
from embedsearch.interruption import as_ctrl_c
from embedsearch.sweep.search.placement import PATIENCE, Nodes, Patience, amounts, slots


@dataclass(frozen=True)
class Cluster:
    """Where trials run, and what each of them holds."""

    address: str | None = None
    """Of a running Ray cluster; None starts one on this machine, listening on loopback."""
    cpus_per_trial: int = 1
    gpus_per_trial: float = 0.0
    patience: Patience = PATIENCE
    """How long a trial waits for what it holds."""

    @property
    def processes(self) -> int:
        """Of a trial: one for each of its GPUs."""
        return max(1, int(self.gpus_per_trial))

    @property
    def wanted(self) -> dict[str, float]:
        """What each process of a trial holds, by kind."""
        wanted = {"CPU": float(self.cpus_per_trial), "GPU": self.gpus_per_trial}
        return {kind: amount / self.processes for kind, amount in wanted.items() if amount}


def local_resources() -> dict[str, float]:
    """What this machine has to run trials on (``CPU``, ``GPU``), without starting Ray."""
    import torch

    cpus = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {"CPU": cpus or 1, "GPU": torch.cuda.device_count()}


def prepare(address: str | None = None) -> None:
    """Settle what Ray reads from the environment when it is imported: call it before that."""
    os.environ.update(_ENVIRONMENT)
    if address is None:
        os.environ.update(_LOOPBACK)
    else:
        os.environ.setdefault("RAY_AUTH_MODE", "token" if _has_token() else "disabled")


@contextmanager
def connected(cluster: Cluster) -> Iterator[Mapping[str, float]]:
    """Start or join Ray; gives the cluster's resources (``CPU``, ``GPU``). Ends it on the way out.

    SIGTERM is then as good as Ctrl-C: Ray writes down nothing we need, and the trials go on from
    their own checkpoints.
    """
    prepare(cluster.address)
    import ray  # reads its environment when imported

    _must_answer(cluster.address)
    try:
        ray.init(address=cluster.address or "local", **_quiet(cluster))
    except Exception as error:
        raise UserError(_why_not(cluster.address, error)) from error
    _silence()
    ended = _watch_raylet() if cluster.address is None else Event()
    before = signal.signal(signal.SIGTERM, as_ctrl_c)
    try:
        yield ray.cluster_resources()
    finally:
        signal.signal(signal.SIGTERM, before)
        ended.set()
        with unstoppable():
            ray.shutdown()


def _watch_raylet() -> Event:
    """Say it where our raylet dies before the event is set: Ray ends this process without a word.

    Nothing is lost then that a trial or the store had, and no handler of ours would run.
    """
    from ray._private import worker

    raylet = worker._global_node.all_processes["raylet"][0].process
    ended = Event()

    def wait() -> None:
        raylet.wait()
        if not ended.is_set():
            show_cursor = "\033[?25h" if sys.stderr.isatty() else ""
            sys.stderr.write(f"{show_cursor}error: {lost('its raylet died')}\n")

    Thread(target=wait, daemon=True).start()
    return ended


@contextmanager
def unstoppable() -> Iterator[None]:
    """Ctrl-C and SIGTERM do nothing in here: for the short way out, which must be gone whole."""
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(number, signal.SIG_IGN) for number in numbers]
    try:
        yield
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)


def _must_answer(address: str | None) -> None:
    """Raise ``UserError`` where nothing listens at ``HOST:PORT``.

    Ray itself would try for minutes, deaf to Ctrl-C.
    """
    host, _, port = (address or "").rpartition(":")
    if not host or "/" in host or not port.isdecimal():
        return
    try:
        socket.create_connection((host, int(port)), timeout=10).close()
    except (OSError, OverflowError) as error:
        raise UserError(_why_not(address, error)) from error


def _why_not(address: str | None, error: Exception) -> str:
    reason = first_line(error)
    if address is None:
        return f"Ray did not start on this machine ({reason}); give the same command again"
    return (
        f"no Ray cluster answers at '{address}' ({reason}); start one with 'ray start --head' (its "
        f"token lies in {_TOKEN}, or RAY_AUTH_MODE=disabled on both sides), or leave --address out"
    )


def _silence() -> None:
    """What befalls Ray's processes is ours to tell; it would print it among a program's JSON."""
    from ray._private import worker

    worker.print_to_stdstream = lambda *_, **__: None
    for name in ("ray", "ray.tune", "ray.air"):
        logging.getLogger(name).setLevel(logging.CRITICAL)


_ENVIRONMENT = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_AIR_NEW_OUTPUT": "0",
    "TUNE_DISABLE_AUTO_CALLBACK_LOGGERS": "1",
    "TUNE_MAX_PENDING_TRIALS_PG": "16",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "TOKENIZERS_PARALLELISM": "false",
}
_LOOPBACK = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
"""Makes gcs, raylet and workers listen on 127.0.0.1: an undocumented effect, held by a test."""


_TOKEN = Path.home() / ".ray" / "auth_token"
"""What ``ray start`` locks a cluster with by itself; a driver must be told to bring it."""


def _has_token() -> bool:
    named = {"RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"} & os.environ.keys()
    return bool(named) or _TOKEN.is_file()


def _quiet(cluster: Cluster) -> dict[str, Any]:
    common: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
    if cluster.address is not None:
        return common
    own = local_resources()
    return {
        **common,
        "num_cpus": int(own["CPU"]),
        "num_gpus": int(own["GPU"]),
        "include_dashboard": False,
        "object_store_memory": 200_000_000,
    }


def room(cluster: Cluster, resources: Mapping[str, float] | None = None) -> int:
    """How many trials the joined cluster can hold as it is now, or ``resources`` in one place.

    Each node counts by itself, for one process runs on one.
    """
    nodes = Nodes.now() if resources is None else Nodes([resources], resources)
    return sum(slots(size, cluster.wanted) for size in nodes.sizes) // cluster.processes


def trials_at_once(resources: Mapping[str, float], cluster: Cluster) -> int:
    """How many trials the cluster can hold; ``UserError`` where it can't hold one."""
    total = {kind: amount * cluster.processes for kind, amount in cluster.wanted.items()}
    lacking = next((kind for kind, n in total.items() if n > resources.get(kind, 0)), None)
    if lacking:
        raise UserError(
            f"a trial wants {total[lacking]:g} {lacking}, and the cluster has "
            f"{resources.get(lacking, 0):g}: lower --{lacking.lower()}s-per-trial"
        )
    nodes = Nodes([resources], resources) if cluster.address is None else Nodes.now()
    if text := nodes.lacking(cluster.wanted):
        raise UserError(
            f"a trial wants {amounts(cluster.wanted)}, and {text}: ask for less a trial"
        )
    return max(1, room(cluster, None if cluster.address else resources))


def lost(reason: str) -> str:
    return f"Ray was lost ({reason}); give the same command again to go on"


def first_line(error: Exception) -> str:
    """What it says first; of a worker's traceback, what that comes down to."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[-1 if lines[0].startswith("Traceback") else 0]
