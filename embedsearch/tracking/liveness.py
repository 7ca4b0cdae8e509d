"""Whether the process that writes a sweep's runs is alive.

It holds a file lock as long as it lives, which the system takes back however it ends. Where the
store is a server, processes on other machines ask too, so there it renews a time stamp instead.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from filelock import FileLock, Timeout

from embedsearch.tracking.runs import HEARTBEAT
from embedsearch.tracking.store import Store

PROCESS = "embedsearch.process"
BEAT_S = 30.0
STALE_S = 300.0


class Claim:
    """Held by the driver of a sweep run; anyone may ask ``is_alive`` about it."""

    def __init__(self, store: Store, run_id: str) -> None:
        self._store, self._run_id = store, run_id
        self._lock: FileLock | None = None
        self._ended = threading.Event()
        if store.database:
            path = _path(store, run_id)
            path.parent.mkdir(parents=True, exist_ok=True)
            self._lock = FileLock(path, timeout=10, thread_local=False)
            self._lock.acquire()  # at most for the moment in which another process asks
        else:
            store.client.set_tag(run_id, PROCESS, f"{os.getpid()}@{socket.gethostname()}")
            self._beat(time.time())
            threading.Thread(target=self._keep_beating, daemon=True).start()

    def release(self) -> None:
        """Nobody is alive any more; may be called twice."""
        if self._ended.is_set():
            return
        self._ended.set()
        if self._lock:
            self._lock.release()
        else:
            self._beat(0)

    def _beat(self, seconds: float) -> None:
        self._store.client.set_tag(self._run_id, HEARTBEAT, f"{seconds:.0f}")

    def _keep_beating(self) -> None:
        while not self._ended.wait(BEAT_S):
            # the server may be back at the next beat
            with suppress(Exception):
                self._beat(time.time())


def is_alive(store: Store, run_id: str) -> bool:
    """Whether some process, this one included, holds the claim on a sweep run.

    One that writes a local store through a server has no lock in it, and a heartbeat.
    """
    return _is_locked(store, run_id) or is_beating(store.tags(run_id))


def _is_locked(store: Store, run_id: str) -> bool:
    path = _path(store, run_id)
    if store.database is None or not path.exists():
        return False
    try:
        with FileLock(path, timeout=0, thread_local=False):
            return False
    except Timeout:
        return True


def is_beating(tags: Mapping[str, str]) -> bool:
    """Whether a process that writes through a server renewed its time stamp of late.

    One of this machine is asked for itself: it may have been killed a moment ago.
    """
    fresh = time.time() - float(tags.get(HEARTBEAT, "0")) < STALE_S
    return fresh and not _has_died_here(tags.get(PROCESS, ""))


def _has_died_here(process: str) -> bool:
    pid, _, host = process.partition("@")
    if host != socket.gethostname():
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False


def _path(store: Store, run_id: str) -> Path:
    return store.storage / "sweeps" / f"{run_id}.lock"
