"""Ends a process at a chosen moment, and tells what it left.

A moment is whatever changes what is kept: a rename or a removal under a folder, a commit of the
database. They are counted as Python and SQLAlchemy tell them, so no write is passed over because
nobody thought of it.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

STOPPED = 77
WAYS = {
    "draft": ("before", "half", "after"),
    "removal": ("before", "half", "after"),
    "move": ("before", "after"),
    "commit": ("before",),
}
"""How one may be stopped at a moment; ``half``: what was written, or removed, is found in part.
After a commit nothing differs from before the next moment."""
CLOCKS = ("seconds", "device_seconds", "sentences_per_s")

_SERVER = multiprocessing.get_context("forkserver")
_SERVER.set_forkserver_preload(
    [
        "datasets",
        "embedsearch.cli.run",
        "transformers.models.bert.modeling_bert",
        "mlflow.store.tracking.sqlalchemy_store",
        "mlflow.tracking",
        "tests.faults",
    ]
)


def in_a_process(job: Callable[..., None], *arguments: Any) -> int:
    """Run ``job`` in a process of its own, which pays no imports; its exit code."""
    process = _SERVER.Process(target=_quietly, args=(job, *arguments))
    process.start()
    process.join(120)
    assert process.exitcode is not None, "it hangs"
    return process.exitcode


def _quietly(job: Callable[..., None], *arguments: Any) -> None:
    """What is said goes to a file of the folder, the job's first argument."""
    said = os.open(arguments[0] / "said.txt", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    os.dup2(said, 1)
    os.dup2(said, 2)
    os.chdir(arguments[0])
    job(*arguments)


class Stop:
    """Ends this process at the ``number``-th moment under ``folder``; at 0 it counts them."""

    def __init__(self, folder: Path, number: int, how: str) -> None:
        self.folder, self.number, self.how = folder.resolve(), number, how
        self.seen: list[str] = []
        """What each moment was: ``draft`` (put in its place), ``move``, ``removal``, ``commit``."""
        self.acting = self.writing = False
        sys.addaudithook(self._heard)
        from sqlalchemy import event
        from sqlalchemy.engine import Engine

        event.listen(Engine, "before_cursor_execute", self._executed)
        event.listen(Engine, "commit", self._committed)

    def _heard(self, name: str, arguments: tuple[Any, ...]) -> None:
        if self.acting or name not in ("os.rename", "shutil.rmtree", "os.remove"):
            return
        path = Path(os.fsdecode(arguments[0]))
        if arguments[-1] not in (-1, None) or not path.is_relative_to(self.folder):
            return
        kind = "removal" if name != "os.rename" else "move"
        kind = "draft" if kind == "move" and path.name.endswith(".draft") else kind
        if path.exists() and path.suffix != ".lock" and self._is_now(kind):
            self.acting = True
            self._act(path, Path(os.fsdecode(arguments[1])) if name == "os.rename" else None)
            os._exit(STOPPED)

    def _act(self, path: Path, target: Path | None) -> None:
        if self.how == "half":
            _halve(path)
        elif self.how == "after" and target:
            path.replace(target)
        elif self.how == "after":
            shutil.rmtree(path) if path.is_dir() else path.unlink()

    def _executed(self, *arguments: Any) -> None:
        if arguments[2].lstrip()[:6].upper() in ("INSERT", "UPDATE", "DELETE"):
            self.writing = True

    def _committed(self, _: Any) -> None:
        if self.writing and self._is_now("commit"):
            os._exit(STOPPED)
        self.writing = False

    def _is_now(self, kind: str) -> bool:
        self.seen.append(kind)
        return len(self.seen) == self.number


def _halve(path: Path) -> None:
    """Half of a file, or of a folder's files with one of them cut."""
    files = sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path]
    for file in files[len(files) // 2 + 1 :]:
        file.unlink()
    os.truncate(files[len(files) // 2], files[len(files) // 2].stat().st_size // 2)


def leftovers(folder: Path) -> list[str]:
    """What only a killed process leaves."""
    odd = (".draft", ".old", ".tmp")
    return [str(p) for p in folder.rglob("*") if p.suffix in odd or p.name == "state"]


def without_clocks(value: Any) -> Any:
    """``value`` without what a clock says, which no two runs share."""
    if isinstance(value, dict):
        return {k: without_clocks(v) for k, v in value.items() if k not in CLOCKS}
    return [without_clocks(item) for item in value] if isinstance(value, list | tuple) else value


def contents(folder: Path) -> dict[str, str]:
    """A digest of each file of a folder, by its path in it."""
    import hashlib

    files = [p for p in sorted(folder.rglob("*")) if p.is_file()]
    digests = {p: hashlib.sha256(p.read_bytes()).hexdigest() for p in files}
    return {str(p.relative_to(folder)): digest for p, digest in digests.items()}


def store_picture(root: Path) -> list[Any]:
    """All that a store's runs hold, but for run ids and clocks: equal for equal sweeps."""
    from embedsearch.tracking.artifacts import Artifacts
    from embedsearch.tracking.store import Store

    store = Store.open(str(root))
    pictures = []
    for run in store.search():
        histories = {
            name: [(m.step, m.value) for m in store.client.get_metric_history(run.run_id, name)]
            for name in run.metrics
            if name not in CLOCKS and not name.startswith("spent/")
        }
        charged = run.metrics.get("spent/trials")
        folder = Artifacts(store, run).folder
        files = contents(folder) if folder else {}
        named = {"mlflow.parentRunId", "embedsearch.holder"}
        tags = {k: v for k, v in run.tags.items() if k not in named}
        names = {name: "" if "/" not in name else digest for name, digest in files.items()}
        told = [tags, run.status, dict(run.params), histories, names, charged]
        pictures.append(json.loads(json.dumps(told, sort_keys=True)))
    return sorted(pictures, key=json.dumps)
