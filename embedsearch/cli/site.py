"""Where a command's trials run, and where they keep what they need."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from embedsearch.bucket import Bucket
from embedsearch.errors import UserError
from embedsearch.place import Place
from embedsearch.sweep.search import Cluster


@dataclass(frozen=True)
class Site:
    """Where a command's trials run, and one line that says so, and on what."""

    cluster: Cluster
    place: Place
    said: str


def site(
    storage: str | None, address: str | None, device: str, cpus: int, gpus: float | None
) -> tuple[Cluster, Place]:
    """Where trials of so many CPUs and GPUs run (None: one, on a GPU), and keep what they need."""
    gpus_each = (1.0 if gpus is None else gpus) if device == "cuda" else 0.0
    return Cluster(address, cpus, gpus_each), Place(_storage(storage), gpus_each or cpus)


def device_of(wanted: str, gpus: float) -> str:
    """``cpu`` or ``cuda``; ``UserError`` where that isn't there."""
    if wanted == "cuda" and not gpus:
        raise UserError("device cuda: there is no GPU to run on; give --device cpu")
    return ("cuda" if gpus else "cpu") if wanted == "auto" else wanted


def _storage(chosen: str | None) -> Path | Bucket:
    bucket = Bucket(chosen) if chosen and re.match(r"\w{2,}:/", chosen) else None
    if bucket:
        bucket.check()
    folder = bucket.folder if bucket else Path(chosen or ".embedsearch").expanduser().absolute()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(
            f"--storage {folder}: it can't be a folder ({error.strerror}); name another one"
        ) from error
    return bucket or folder
