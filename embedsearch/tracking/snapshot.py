"""Versions of a local store, kept by DVC and named by a small file in git."""

from __future__ import annotations

import os
import shlex
import shutil
import sqlite3
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Set
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from embedsearch.errors import UserError
from embedsearch.tracking import runs
from embedsearch.tracking.artifacts import CHECKPOINT_FOLDER, Artifacts
from embedsearch.tracking.liveness import is_alive
from embedsearch.tracking.pruning import prune
from embedsearch.tracking.repository import Repository, megabytes
from embedsearch.tracking.store import Store
from embedsearch.tracking.stored import StoredRun
from embedsearch.tracking.writer import mend

_LEFT_OUT = (".lock", ".*.draft")
"""What does not travel: the store's lock, and drafts of files whose writer was killed."""


@dataclass(frozen=True)
class Contents:
    """What a store holds."""

    trials: int
    checkpoints: int
    size: int
    """In bytes."""

    def __str__(self) -> str:
        trials, checkpoints = _count(self.trials, "trial"), _count(self.checkpoints, "checkpoint")
        return f"{trials}, {checkpoints}, {megabytes(self.size)}"


def take(store: Store, keep: Mapping[str | None, int] = MappingProxyType({})) -> list[str]:
    """Make a version of the store and send it to the remote; what was done, line by line.

    ``keep`` bounds the checkpoints of each comparable group, here and so in the version, by
    method, None standing for every method not named; without a bound the store's own stay.
    Raises ``UserError`` while a sweep is live, and where git or DVC can't do their part.
    """
    database = _database(store)
    repository = Repository.around(database.parent)
    with _quiet(store):
        for experiment in store.methods():
            mend(store, experiment)
            bound = keep.get(experiment, keep.get(None))
            if bound is not None:
                prune(store, experiment, bound)
        _drop_orphans(store)
        contents = _contents(store, _files(database.parent))
        said = repository.prepare()
        repository.leave_out(_LEFT_OUT)
        with _unwritten(database):
            repository.add()
    where = repository.push()
    return [
        *said,
        f"{_shown(repository.folder)}: {contents}",
        f"wrote {_shown(repository.pointer)}, pushed to {where}",
        *_to_commit(repository),
    ]


def pull(store: Store) -> list[str]:
    """Bring the store to the version the pointer names; what was done, line by line.

    Raises ``UserError``, with the store as it was, where it holds anything that no version has.
    """
    database = _database(store)
    repository = Repository.around(database.parent)
    files = repository.fetch()
    repository.leave_out(_LEFT_OUT)
    with _opened(files.get(database.name)) as version:
        trials = _endings(version)
        contents = _contents(version, files.values())
        if not _files(repository.folder):
            repository.checkout()
        elif not store.exists:
            raise UserError(
                f"{repository.folder} is there, but is no store; move it aside, then pull again"
            )
        else:
            with _quiet(store):
                _check_saved(store, repository, trials)
                repository.checkout()
    return [
        f"{_shown(repository.folder)} is now as {_shown(repository.pointer)} says: {contents}",
        "an `embedsearch ui` that runs shows the former version until it is started again",
    ]


def _database(store: Store) -> Path:
    if store.database is None:
        raise UserError(
            f"the store {store} is a server, and a snapshot is of a local folder; name one with "
            "--store, or use the server's own backup"
        )
    return store.database


@contextmanager
def _quiet(store: Store) -> Iterator[None]:
    """No sweep runs, and none starts. Raises ``UserError`` while one is live.

    A sweep may also write this store through a server; then it has a heartbeat and no lock.
    """
    _settle(_database(store))
    with store.writing():
        for run in store.search(mlflow_status="RUNNING"):
            if run.tags.get(runs.KIND) == "sweep" and is_alive(store, run.run_id):
                raise UserError(_is_live(store, run))
        yield


def _is_live(store: Store, run: StoredRun) -> str:
    return (
        f"the sweep {run.method} {run.name} is running on {store}; wait for its end, or stop "
        "it with Ctrl-C (its command, given again, goes on), then give this command again"
    )


def _settle(database: Path) -> None:
    """Everything into the one file: no ``-wal`` and no ``-shm`` beside it."""
    try:
        address = f"{database.as_uri()}?mode=rw"
        with closing(sqlite3.connect(address, timeout=5, uri=True)) as connection:
            connection.execute("PRAGMA journal_mode = DELETE").fetchone()
    except sqlite3.OperationalError as error:
        raise UserError(
            f"can't close {database} ({error}); end what has it open (a sweep, `embedsearch ui`), "
            "then give this command again"
        ) from error


@contextmanager
def _unwritten(database: Path) -> Iterator[None]:
    """Nobody writes the database meanwhile, the user interface included; reading goes on."""
    with closing(sqlite3.connect(database, timeout=30, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        yield
        connection.execute("ROLLBACK")


def _trials(store: Store) -> list[StoredRun]:
    return store.search(kind="trial")


def _drop_orphans(store: Store) -> None:
    """Checkpoints that no trial claims: whoever pruned or wrote them was killed before the end."""
    for run in _trials(store):
        if run.tags.get(runs.CHECKPOINT) != runs.KEPT:
            Artifacts(store, run).delete(CHECKPOINT_FOLDER)


def _contents(store: Store, files: Iterable[Path]) -> Contents:
    trials = _trials(store)
    kept = sum(run.tags.get(runs.CHECKPOINT) == runs.KEPT for run in trials)
    return Contents(len(trials), kept, sum(path.stat().st_size for path in files))


def _files(folder: Path) -> list[Path]:
    """Those that travel."""
    return [
        path
        for path in sorted(folder.rglob("*"))
        if path.is_file()
        and not any(
            Path(part).match(pattern)
            for part in path.relative_to(folder).parts
            for pattern in _LEFT_OUT
        )
    ]


def _check_saved(store: Store, repository: Repository, known: Set[tuple[str, str]]) -> None:
    unsaved = repository.unsaved(_files(repository.folder))
    if not unsaved:
        return
    missing = _endings(store) - known
    first = unsaved[0].relative_to(repository.folder)
    files = f"{_count(len(unsaved), 'file')} ({first}, …)"
    what = _count(len(missing), "trial") if missing else files
    folder = _shown(repository.folder)
    raise UserError(
        f"{folder} holds {what} that no snapshot has, so nothing was pulled and nothing deleted; "
        f"keep it with `embedsearch snapshot` (which writes {_shown(repository.pointer)} anew: "
        "commit that first, then take up the other version with git and pull), or move it aside "
        f"with `mv {shlex.quote(folder)} {shlex.quote(folder + '.mine')}` and pull"
    )


def _endings(store: Store) -> Set[tuple[str, str]]:
    """How far each trial is."""
    return {(run.run_id, run.tags[runs.STATUS]) for run in _trials(store)}


@contextmanager
def _opened(database: Path | None) -> Iterator[Store]:
    """A version's database, which stays as it is, to be read."""
    with tempfile.TemporaryDirectory() as scratch:
        if database:
            shutil.copyfile(database, Path(scratch) / "mlflow.db")
        yield Store.open(scratch)


def _to_commit(repository: Repository) -> list[str]:
    paths = [shlex.quote(_shown(path)) for path in repository.uncommitted()]
    if not paths:
        return ["nothing has changed since the last committed snapshot"]
    message = shlex.quote(f"Snapshot of {repository.folder.name}")
    return ["commit it:", f"  git add {' '.join(paths)} && git commit -m {message}"]


def _shown(path: Path) -> str:
    """As one would type it here."""
    return os.path.relpath(path)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
