"""Where trials run: what they keep there, and how the processes of one find each other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Place:
    """Where trials keep what they need; the same folder for all workers of a cluster."""

    storage: Path
    devices: float = 1.0
    """Devices a trial holds (GPUs, or CPU threads): what its device-seconds count."""
    save_s: float = 60.0
    """A running trial keeps a state to go on from at an evaluation, at most this often."""
    rungs: tuple[int, ...] = ()
    """Steps at which it keeps one besides, for it may be left there and taken up again."""

    def work(self, spec_id: str) -> Path:
        return self.storage / "work" / spec_id

    @property
    def cache(self) -> Path:
        return self.storage / "cache"


@dataclass(frozen=True)
class Seat:
    """Where a process sits among those that train a trial together."""

    number: int
    size: int
    address: str
    """Of its machine, for the others."""
    tell: Callable[[tuple[str, int]], tuple[str, int]]
    """Gives every process what the first one passes."""
