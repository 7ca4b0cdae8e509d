"""A bucket, for nodes that share no file system: what is put into it is there whole, or not."""

from __future__ import annotations

import json
import logging
import os
import re
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path, PurePosixPath

from embedsearch.durable import write_whole
from embedsearch.errors import UserError, first_line
from embedsearch.objects import Objects, Unreachable, join
from embedsearch.records import content_id

_log = logging.getLogger(__name__)

_KEPT = 2
"""Versions of each name: the last one, and the one before it."""
_MANIFEST = ".json"
_ENTRY = re.compile(r"\d{8}-[0-9a-f]{8}(\.json)?")
"""A version's number and what makes it its writer's own; its manifest is called as it."""


class _Damaged(Exception):
    """A version lacks something, or has something else than was put there."""


@dataclass(frozen=True)
class Bucket:
    """A folder in a bucket: ``s3://NAME/FOLDER``, ``gs://NAME/FOLDER``; ``file:///FOLDER`` is one
    on this machine.

    What is put under a name lies under a new version of it, and the version's manifest, its files
    with their sizes and checksums, is written last. Who reads finds all of a version or takes the
    one before it, and writers of the same name are not in each other's way. Every method raises
    ``Unreachable`` where the bucket can't be used, after a few tries.
    """

    address: str

    @property
    def folder(self) -> Path:
        """Where a machine keeps what it has of the bucket."""
        caches = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        return Path(caches) / "embedsearch" / content_id(self.address)

    @cached_property
    def objects(self) -> Objects:
        return Objects(self.address)

    def check(self) -> None:
        """Raise ``UserError`` where nothing can be written here, or removed."""
        if re.search(r"://[^/@]*:[^/@]*@", self.address):
            raise UserError(
                "--storage: a key on a command line is seen by all; give it in the environment "
                "(AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY)"
            )
        try:
            self.objects.probe(f"probe-{uuid.uuid4().hex}")
        except (OSError, ValueError, NotImplementedError, ImportError) as error:
            raise Unreachable(
                f"--storage {self.address}: nothing can be written there ({first_line(error)}); "
                "give s3://BUCKET/FOLDER or gs://BUCKET/FOLDER of a bucket that exists, with its "
                "credentials in the environment, or a folder that all nodes see"
            ) from error

    def put(self, name: str, files: Mapping[str, Path]) -> None:
        """Put ``files`` under ``name``, by what each is called there ("" where it is the only one).

        The version that was there stays as the one before it; older ones are removed.
        """
        found = self._entries(name)
        number = 1 + max(map(_number, found), default=0)
        version = f"{number:08d}-{uuid.uuid4().hex[:8]}"
        manifest = {
            part: self.objects.upload(path, join(name, version, part))
            for part, path in files.items()
        }
        self.objects.write(join(name, version + _MANIFEST), json.dumps(manifest).encode())
        last = sorted([*_whole(found), version], reverse=True)[:_KEPT][-1]
        for entry in sorted(found, key=lambda entry: not entry.endswith(_MANIFEST)):
            if _number(entry) < _number(last):
                self.objects.remove(join(name, entry))

    def get(self, name: str, target: Path) -> bool:
        """Have at ``target`` what is under ``name``; False where nothing is.

        A version that is damaged is removed with a warning, and the one before it is used.
        """
        tried: set[str] = set()  # one at a time, for they may be replaced meanwhile
        while versions := [v for v in _whole(self._entries(name)) if v not in tried]:
            version = versions[0]
            tried.add(version)
            try:
                write_whole(target, partial(self._download, name, version))
                return True
            except _Damaged as error:
                text = "%s in %s is damaged (%s); the version before it is used, if any"
                _log.warning(text, join(name, version), self.address, error)
                self.objects.remove(join(name, version + _MANIFEST))
                self.objects.remove(join(name, version))
        return False

    def has(self, name: str) -> bool:
        """Whether the last version of ``name`` is there, by the sizes of its files."""
        for version in _whole(self._entries(name))[:1]:
            try:
                manifest = self._manifest(name, version)
            except _Damaged:
                return False
            paths = [join(name, version, part) for part in manifest]
            return self.objects.sizes(paths) == [size for size, _ in manifest.values()]
        return False

    def names(self, folder: str) -> set[str]:
        """What there is in ``folder``."""
        return self.objects.names(folder)

    def remove(self, name: str) -> None:
        """Remove all that is under ``name``."""
        self.objects.remove(name)

    def _entries(self, name: str) -> list[str]:
        return [entry for entry in self.objects.names(name) if _ENTRY.fullmatch(entry)]

    def _manifest(self, name: str, version: str) -> dict[str, tuple[int, str]]:
        """Of each of a version's files its size and checksum."""
        try:
            value = json.loads(self.objects.read(join(name, version + _MANIFEST)))
            manifest = {part: (int(size), str(digest)) for part, (size, digest) in value.items()}
        except FileNotFoundError as error:
            raise _Damaged("it was removed meanwhile") from error
        except (ValueError, TypeError, AttributeError) as error:
            raise _Damaged(f"its manifest can't be read: {error}") from error
        if not manifest or any(map(_leads_out, manifest)):
            raise _Damaged("its manifest names no files of its own")
        return manifest

    def _download(self, name: str, version: str, draft: Path) -> None:
        for part, wanted in self._manifest(name, version).items():
            path = draft / part
            path.parent.mkdir(parents=True, exist_ok=True)
            try:
                found = self.objects.fetch(join(name, version, part), path)
            except FileNotFoundError as error:
                raise _Damaged(f"{part or 'its file'} is missing") from error
            if found != wanted:
                raise _Damaged(f"{part or 'its file'} is not what was put there")


def files_of(path: Path) -> dict[str, Path]:
    """A file, or all files of a folder, as ``Bucket.put`` takes them."""
    if path.is_file():
        return {"": path}
    return {p.relative_to(path).as_posix(): p for p in sorted(path.rglob("*")) if p.is_file()}


def _whole(entries: list[str]) -> list[str]:
    """The versions that have a manifest, the newest first."""
    manifests = (entry for entry in entries if entry.endswith(_MANIFEST))
    return sorted((entry.removesuffix(_MANIFEST) for entry in manifests), reverse=True)


def _number(entry: str) -> int:
    return int(entry[:8])


def _leads_out(part: str) -> bool:
    return PurePosixPath(part).is_absolute() or ".." in PurePosixPath(part).parts
