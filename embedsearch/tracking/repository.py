"""The git and DVC repository a store lies in, by their command lines; DVC is never imported."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Self

import yaml

from embedsearch.errors import UserError

_REMOTE = "store"
"""Of a repository that had none: a folder in ``.dvc`` that is committed."""
_CONFIG = f"""\
[core]
    remote = {_REMOTE}
    analytics = false
    check_update = false
[cache]
    type = "reflink,copy"
['remote "{_REMOTE}"']
    url = {_REMOTE}
"""
"""Of a new repository. A store that is a link into DVC's cache could not be written."""


@dataclass(frozen=True)
class Repository:
    """Where one folder is, or may become, versioned."""

    folder: Path
    """The folder to be versioned; need not exist."""
    git_root: Path
    root: Path
    """Of the DVC repository; the git repository's where there is none yet."""

    @classmethod
    def around(cls, folder: Path) -> Self:
        """The repository that ``folder`` lies in. Nothing is made.

        Raises ``UserError`` without DVC, outside a git repository, or at the top of one.
        """
        if find_spec("dvc") is None:
            raise UserError("a snapshot needs DVC; get it with `pip install 'embedsearch[dvc]'`")
        home = folder.parent.resolve()
        if (folder / ".git").exists() or (folder / ".dvc").exists():
            raise UserError(
                f"the store lies at the top of the repository {folder}; move its database and its "
                "artifacts to a folder of their own, such as mlruns"
            )
        try:
            git_root = Path(_run(["git", "rev-parse", "--show-toplevel"], home))
        except (OSError, subprocess.CalledProcessError) as error:
            raise UserError(
                f"a snapshot is committed with git, and {home} is in no git repository "
                f"({_why(error)}); make one with `git init`"
            ) from error
        above = [place for place in (home, *home.parents) if place.is_relative_to(git_root)]
        root = next((place for place in above if (place / ".dvc" / "config").is_file()), git_root)
        return cls(home / folder.name, git_root, root)

    @property
    def pointer(self) -> Path:
        """The file that names a version of the folder, for git."""
        return self.folder.with_name(f"{self.folder.name}.dvc")

    def prepare(self) -> list[str]:
        """Make what is missing, DVC's repository and a default remote; what was made."""
        config = self.root / ".dvc" / "config"
        if not config.is_file():
            self._dvc("init")
            config.write_text(_CONFIG, encoding="utf-8")
            said = [f"made a DVC repository in {self.root}, its analytics and update checks off"]
        elif not self._remote():
            self._dvc("remote", "add", "--default", _REMOTE, f".dvc/{_REMOTE}")
            said = []
        else:
            return []
        # git must not touch line ends: each file is named by the hash of its bytes
        _add_lines(config.with_name(".gitattributes"), [f"/{_REMOTE}/** binary"])
        return [*said, f"made .dvc/{_REMOTE} its default remote, to be committed with it"]

    def leave_out(self, names: Sequence[str]) -> None:
        """Have DVC pass over the folder's files of such names, which may be patterns."""
        below = _literal(self.folder.relative_to(self.root).as_posix())
        _add_lines(self.root / ".dvcignore", [f"/{below}/**/{name}" for name in names])

    def add(self) -> None:
        """Take the folder as it is into the cache and write the pointer."""
        self._dvc("add", self._relative(self.folder))
        self._unlink()

    def push(self) -> str:
        """Send what the pointer names to the default remote, and say where that is."""
        self._dvc("push", self._relative(self.pointer))
        remote, inside = self._remote(), self.root / ".dvc" / _REMOTE
        if remote != _REMOTE or not inside.is_dir():
            return f"the remote {remote}"
        size = sum(path.stat().st_size for path in inside.rglob("*") if path.is_file())
        return f".dvc/{_REMOTE} ({megabytes(size)} with all earlier snapshots)"

    def fetch(self) -> Mapping[str, Path]:
        """The files of the pointer's version: where the cache has each, by its path in the folder.

        The folder itself is left alone. Raises ``UserError`` where the remote lacks any.
        """
        if not self.pointer.is_file():
            raise UserError(
                f"there is no snapshot to pull, as there is no {self.pointer}; make one with "
                "`embedsearch snapshot` where the results are, commit it and fetch it with git"
            )
        try:
            [output] = yaml.safe_load(self.pointer.read_text(encoding="utf-8"))["outs"]
            name = str(output["md5"])
        except (OSError, ValueError, KeyError, TypeError, yaml.YAMLError) as error:
            raise UserError(
                f"{self.pointer} is no pointer of DVC; bring back the committed one with "
                f"`git checkout {self.pointer.name}`"
            ) from error
        self._dvc("fetch", self._relative(self.pointer))
        cache = self._cache()
        listing = _cached(cache, name)
        entries: list[Any] = json.loads(listing.read_bytes()) if listing.is_file() else []
        files = {str(entry["relpath"]): _cached(cache, str(entry["md5"])) for entry in entries}
        if not files or not all(path.is_file() for path in files.values()):
            raise UserError(
                f"the remote {self._remote()} lacks files that {self.pointer} names; run "
                "`dvc push` (and commit .dvc) where the snapshot was made"
            )
        return files

    def unsaved(self, files: Sequence[Path]) -> list[Path]:
        """Those that no version in the cache has, and that are lost when they are overwritten."""
        cache = self._cache()
        return [path for path in files if not _cached(cache, _md5(path)).is_file()]

    def checkout(self) -> None:
        """Make the folder what the pointer names; call ``fetch`` first.

        Raises ``UserError`` where that would lose a file that no version has.
        """
        self._dvc("checkout", self._relative(self.pointer))
        self._unlink()

    def uncommitted(self) -> list[Path]:
        """What there is to commit of a snapshot."""
        own = (self.pointer, self.root / ".dvc", self.root / ".dvcignore")
        found = (*own, self.pointer.with_name(".gitignore"))
        return [
            path
            for path in found
            if path.exists()
            and _run(["git", "status", "--porcelain", "--", str(path)], self.git_root)
        ]

    def _remote(self) -> str:
        """The default one's name; empty without."""
        return self._dvc("config", "core.remote")

    def _cache(self) -> Path:
        return Path(self._dvc("cache", "dir"))

    def _unlink(self) -> None:
        """Copies instead of links into the cache, where someone's own settings made those."""
        files = (path for path in self.folder.rglob("*") if not path.is_dir())
        if any(path.is_symlink() or path.stat().st_nlink > 1 for path in files):
            self._dvc("unprotect", self._relative(self.folder))

    def _relative(self, path: Path) -> str:
        return str(path.relative_to(self.root))

    def _dvc(self, *words: str) -> str:
        try:
            return _run([sys.executable, "-P", "-m", "dvc", *words], self.root)
        except subprocess.CalledProcessError as error:
            raise UserError(f"`dvc {' '.join(words)}` failed: {_why(error)}") from error


def megabytes(size: int) -> str:
    """A number of bytes, in words."""
    return f"{size / 1e6:.1f} MB"


def _run(command: list[str], folder: Path) -> str:
    """Its standard output. It is asked nothing and sends nothing about its use."""
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, "DVC_NO_ANALYTICS": "1"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=True,
    )
    return done.stdout.strip()


def _why(error: OSError | subprocess.CalledProcessError) -> str:
    if isinstance(error, OSError):
        return str(error)
    words = " ".join(str(error.stderr).split())
    return words.removeprefix("ERROR: ").removeprefix("fatal: ") or f"exit code {error.returncode}"


def _cached(cache: Path, md5: str) -> Path:
    """Where DVC's cache keeps a file or a folder's listing, as its documentation has it."""
    return cache / "files" / "md5" / md5[:2] / md5[2:]


def _md5(path: Path) -> str:
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()


def _literal(path: str) -> str:
    """A path as a pattern that matches nothing else."""
    return "".join(f"\\{c}" if c in "\\*?[]!#" else c for c in path)


def _add_lines(path: Path, lines: Sequence[str]) -> None:
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    missing = [line for line in lines if line not in text.splitlines()]
    if missing:
        text += "" if text.endswith("\n") or not text else "\n"
        path.write_text(text + "\n".join(missing) + "\n", encoding="utf-8")
