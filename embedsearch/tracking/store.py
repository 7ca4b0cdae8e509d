"""Where runs are kept: a folder with an SQLite file and artifacts, or an MLflow server."""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, Self

from filelock import FileLock

from embedsearch.errors import UserError
from embedsearch.tracking import address as addresses
from embedsearch.tracking import database as tables
from embedsearch.tracking.stored import SPEC_ID, Query, StoredRun

_QUIET = {
    "MLFLOW_LOGGING_LEVEL": "WARNING",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
    "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
}
_PAGE = 5000
_BATCH = 1000
"""Metrics MLflow takes at once."""


class Store:
    """One MLflow tracking store. Nothing is made, and MLflow is not imported, until it is used."""

    def __init__(self, address: str, database: Path | None, storage: Path) -> None:
        self.database = database
        """The SQLite file; None when the store is a server."""
        self.storage = storage
        """The folder of what running sweeps hold; not part of the store."""
        self.uri = address if database is None else tables.address(database)

    @classmethod
    def open(
        cls, uri: str | None = None, *, root: Path = Path("mlruns"), storage: Path | None = None
    ) -> Self:
        """The store at ``uri`` (a server, ``sqlite:///…``, a folder or a ``.db`` file), else where
        ``MLFLOW_TRACKING_URI`` says, else in ``root``. ``storage`` lies beside it by default.
        Raises ``UserError`` for an address of another kind.
        """
        address = uri or os.environ.get("MLFLOW_TRACKING_URI") or str(root)
        database = addresses.database(address)
        beside = root if database is None else database.parent
        return cls(address, database, storage or beside.absolute().parent / ".embedsearch")

    def __str__(self) -> str:
        return str(self.database or addresses.public(self.uri))

    @property
    def artifacts(self) -> Path | None:
        """The folder beside the database; None when a server has the artifacts."""
        return self.database and self.database.parent / "artifacts"

    @property
    def exists(self) -> bool:
        """Whether there is something to read; a server is taken to exist.

        Raises ``UserError`` where there is a file that can't be read.
        """
        with self.explained():
            return self.database is None or tables.is_ready(self.database)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """One process at a time gets in, to read and write as one step; may be nested.

        Raises ``UserError`` where the store can't be written.
        """
        with self.explained():
            self._lock.acquire()
            if self.database:
                tables.check_writable(self.database)
        try:
            yield
        finally:
            self._lock.release()

    @cached_property
    def _lock(self) -> FileLock:
        folder = self.storage if self.database is None else self.database.parent
        folder.mkdir(parents=True, exist_ok=True)
        return FileLock(folder / ".lock", thread_local=False)

    @cached_property
    def client(self) -> Any:
        """An ``MlflowClient``; a store that does not exist yet is made.

        Raises ``UserError`` where it can't be opened. A fresh store is made by one process at a
        time: two first openings at once would each try to make the tables.
        """
        if self.database is None:
            addresses.must_answer(self.uri)
        elif not self.exists:
            with self.writing(), self.explained():
                if not self.exists:
                    tables.make(self.database, _client)
        with self.explained():
            return _client(self.uri)

    def experiment(self, method: str) -> str:
        """The id of the method's experiment, made when there is none; call it while ``writing``."""
        found = self.client.get_experiment_by_name(method)
        if found is None:
            location = None if self.database is None else f"mlflow-artifacts:/{method}"
            return str(self.client.create_experiment(method, artifact_location=location))
        if found.lifecycle_stage != "active":
            raise UserError(
                f"the experiment '{method}' was deleted in {self}; bring it back with "
                f"`mlflow experiments restore --experiment-id {found.experiment_id}`"
            )
        return str(found.experiment_id)

    def log(
        self,
        run_id: str,
        *,
        metrics: Sequence[tuple[str, float, int]] = (),
        params: Mapping[str, str] | None = None,
        tags: Mapping[str, str] | None = None,
    ) -> None:
        """Add to a run, in batches: metrics as name, value and step; names as MLflow takes them."""
        from mlflow.entities import Metric, Param, RunTag

        if self.database:
            tables.check_writable(self.database)
        now = int(time.time() * 1000)
        points = [Metric(name, value, now, step) for name, value, step in metrics]
        for start in range(0, len(points), _BATCH):
            self.client.log_batch(run_id, metrics=points[start : start + _BATCH])
        self.client.log_batch(
            run_id,
            params=[Param(*item) for item in (params or {}).items()],
            tags=[RunTag(*item) for item in (tags or {}).items()],
        )

    def search(
        self,
        method: str | None = None,
        *,
        mlflow_status: str | None = None,
        run_id: str = "",
        spec_ids: Collection[str] = (),
        limit: int | None = None,
        **tags: str,
    ) -> list[StoredRun]:
        """The runs that meet all of what is given, the latest first; without anything, all.

        ``run_id`` is how the id begins, ``spec_ids`` of which trials, ``limit`` how many; a tag
        goes by its name after ``embedsearch.``.
        """
        query = Query(method, mlflow_status, run_id, tags, spec_ids, limit)
        if not self.exists:
            return []
        if self.database:
            with self.explained():
                return tables.read(self.database, query)
        return list(islice(self._from_server(query), limit))

    def tags(self, run_id: str) -> Mapping[str, str]:
        """Of one run, by its whole id."""
        if self.database is None:
            tags: Mapping[str, str] = self.client.get_run(run_id).data.tags
            return tags
        return next((run.tags for run in self.search(run_id=run_id)), {})

    def methods(self) -> list[str]:
        """The names of all experiments."""
        if not self.exists:
            return []
        if self.database:
            return tables.methods(self.database)
        return [experiment.name for experiment in self.client.search_experiments()]

    def _from_server(self, query: Query) -> Iterator[StoredRun]:
        names = {e.experiment_id: e.name for e in self._experiments(query.method)}
        token = None
        while names:
            page = self.client.search_runs(
                list(names),
                query.condition(),
                max_results=min(_PAGE, query.limit or _PAGE),
                page_token=token,
            )
            for run in page:
                if not query.spec_ids or run.data.tags.get(SPEC_ID) in query.spec_ids:
                    yield StoredRun.of(run, names[run.info.experiment_id])
            token = page.token
            if not token:
                return

    def _experiments(self, method: str | None) -> list[Any]:
        if method is None:
            return list(self.client.search_experiments())
        found = self.client.get_experiment_by_name(method)
        return [found] if found and found.lifecycle_stage == "active" else []

    @contextmanager
    def explained(self, doing: str = "open") -> Iterator[None]:
        """Say in one sentence why the store can't be opened, or written."""
        try:
            yield
        except UserError:
            raise
        except Exception as error:
            reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
            todo = "make room or mend that, and give the same command again to go on, or name"
            hint = "name" if doing == "open" else todo
            raise UserError(
                f"can't {doing} the store {self}: {reason}; {hint} another one with --store or "
                "MLFLOW_TRACKING_URI"
            ) from error


def _client(uri: str) -> Any:
    """MLflow talks on the terminal and reports its use over the network; not here."""
    for name, value in _QUIET.items():
        os.environ.setdefault(name, value)
    from mlflow.tracking import MlflowClient

    return MlflowClient(tracking_uri=uri, registry_uri=uri)
