"""Where trials run: what they keep there, and how the processes of one find each other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from embedsearch.bucket import Bucket, files_of
from embedsearch.durable import remove_whole


@dataclass(frozen=True)
class Place:
    """Where trials keep what they need: one folder for all workers of a cluster, or a bucket.

    With a bucket, each machine works in a folder of its own: what the bucket has is fetched before
    a trial begins, and what must outlive the machine is kept there.
    """

    storage: Path | Bucket
    devices: float = 1.0
    """Devices a trial holds (GPUs, or CPU threads): what its device-seconds count."""
    save_s: float = 60.0
    """A running trial keeps a state to go on from at an evaluation, at most this often."""
    rungs: tuple[int, ...] = ()
    """Steps at which it keeps one besides, for it may be left there and taken up again."""

    @property
    def bucket(self) -> Bucket | None:
        return self.storage if isinstance(self.storage, Bucket) else None

    @property
    def folder(self) -> Path:
        """The storage, or where this machine keeps what it has of the bucket."""
        return self.storage.folder if isinstance(self.storage, Bucket) else self.storage

    def work(self, spec_id: str) -> Path:
        return self.folder / "work" / spec_id

    @property
    def cache(self) -> Path:
        return self.folder / "cache"

    def fetch(self, spec_id: str, name: str) -> None:
        """Have in a trial's ``work`` what the bucket has under ``name``, and nothing else."""
        if self.bucket:
            remove_whole(self.work(spec_id) / name)
            self.bucket.get(in_bucket(spec_id, name), self.work(spec_id) / name)

    def keep(self, spec_id: str, name: str) -> None:
        """Let what is in a trial's ``work`` under ``name`` outlive the machine."""
        if self.bucket:
            self.bucket.put(in_bucket(spec_id, name), files_of(self.work(spec_id) / name))

    def told(self, spec_id: str, name: str) -> str:
        """Where a person finds what a trial has under ``name``."""
        if self.bucket:
            return f"{in_bucket(spec_id, name)} in {self.bucket.address}"
        return str(self.work(spec_id) / name)

    def drop(self, spec_id: str, name: str) -> None:
        """Remove what a trial has under ``name``."""
        remove_whole(self.work(spec_id) / name)
        if self.bucket:
            self.bucket.remove(in_bucket(spec_id, name))

    def leave(self, spec_id: str) -> None:
        """A trial runs here no more: the bucket has what is to be kept of it."""
        if self.bucket:
            for name in ("result.json", "state", "best"):
                remove_whole(self.work(spec_id) / name)


def in_bucket(*names: str) -> str:
    """Where a bucket has what a trial keeps, by the trial's id and the name."""
    return "/".join(["work", *names])


@dataclass(frozen=True)
class Seat:
    """Where a process sits among those that train a trial together."""

    number: int
    size: int
    address: str
    """Of its machine, for the others."""
    tell: Callable[[tuple[str, int]], tuple[str, int]]
    """Gives every process what the first one passes."""
