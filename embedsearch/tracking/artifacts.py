"""The files of a run: beside the database where there is no server, else through the server."""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from embedsearch.durable import remove_whole, write_json, write_whole
from embedsearch.errors import UserError
from embedsearch.tracking.store import Store
from embedsearch.tracking.stored import StoredRun

CHECKPOINT_FOLDER = "checkpoint"
SIMILARITIES = "dev_similarities.json"


class Artifacts:
    """The files of one run, by name.

    An experiment's location is stored as ``mlflow-artifacts:/…``, which a server resolves to its
    own folder and this class to the folder beside the database: a store that was moved opens.
    """

    def __init__(self, store: Store, run: StoredRun) -> None:
        self._store = store
        self._uri: str = run.artifact_uri

    @property
    def folder(self) -> Path | None:
        """Where they lie on this machine; None when a server has them."""
        parts = urlsplit(self._uri)
        if parts.scheme == "mlflow-artifacts" and self._store.artifacts:
            return self._store.artifacts / parts.path.lstrip("/")
        return None

    def location(self, name: str) -> str:
        """A path, or the address that MLflow's tools take."""
        return str(self.folder / name) if self.folder else f"{self._uri}/{name}"

    def put_json(self, name: str, value: Any) -> None:
        if self.folder:
            write_json(self.folder / name, value)
            return
        with tempfile.TemporaryDirectory() as scratch:
            path = Path(scratch) / name
            write_json(path, value)
            self._remote().log_artifact(str(path))

    def get_json(self, name: str) -> Any:
        """Raises ``OSError`` when there is no such file."""
        if self.folder:
            return json.loads((self.folder / name).read_text(encoding="utf-8"))
        with tempfile.TemporaryDirectory() as scratch:
            path = Path(self._remote().download_artifacts(name, scratch))
            return json.loads(path.read_text(encoding="utf-8"))

    def put_folder(self, name: str, source: Path) -> None:
        """A copy of ``source``; on this machine whole or not at all."""
        if self.folder:
            write_whole(self.folder / name, lambda draft: _copy(source, draft))
        else:
            self._remote().log_artifacts(str(source), name)

    def fetch_folder(self, name: str, target: Path) -> None:
        """A copy at ``target``, whole or not at all.

        Raises ``UserError`` when ``target`` holds something already, or the folder is gone.
        """
        if target.exists() and (not target.is_dir() or any(target.iterdir())):
            raise UserError(f"{target} is there already; name a folder that is new or empty")
        if self.folder is None:
            write_whole(target, lambda draft: self._download(name, draft))
            return
        source = self.folder / name
        if not source.is_dir():
            raise UserError(f"{source} is gone; fetch the store whole, its artifacts included")
        write_whole(target, lambda draft: _copy(source, draft))

    def delete(self, name: str) -> None:
        """Nothing happens where there is none."""
        if self.folder:
            remove_whole(self.folder / name)
        else:
            self._remote().delete_artifacts(name)

    def _download(self, name: str, draft: Path) -> None:
        draft.mkdir()
        with tempfile.TemporaryDirectory(dir=draft.parent) as scratch:
            fetched = Path(self._remote().download_artifacts(name, scratch))
            for path in fetched.iterdir():
                path.rename(draft / path.name)

    def _remote(self) -> Any:
        from mlflow.store.artifact.artifact_repository_registry import get_artifact_repository

        return get_artifact_repository(self._uri, tracking_uri=self._store.uri)


def _copy(source: Path, target: Path) -> None:
    try:
        shutil.copytree(source, target)
    except shutil.Error as error:  # a list of all files with their reasons
        raise OSError(error.args[0][0][-1]) from error
