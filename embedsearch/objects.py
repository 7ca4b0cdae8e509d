"""The objects of a bucket, by pyarrow's file systems; what fails is tried again."""

from __future__ import annotations

import functools
import hashlib
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar

from embedsearch.errors import UserError, first_line

T = TypeVar("T")

PAUSES_S = (1.0, 5.0, 20.0)
"""Before what failed is tried again."""
REFUSED = "there is no getting at the bucket"
_PATIENCE_S = 30
"""Of Google's own client, which else tries for a quarter of an hour."""
_BLOCK = 1 << 23


class Unreachable(UserError):
    """The bucket does not answer, or refuses: nothing is wrong with who asked."""


@dataclass(frozen=True)
class Objects:
    """Those in one folder of a bucket, by their paths in it.

    Every method raises ``Unreachable`` after a few tries, and ``FileNotFoundError`` at once where
    it reads what is not there.
    """

    address: str

    @property
    def opened(self) -> tuple[Any, str]:
        """pyarrow's ``FileSystem``, and where in it the folder is."""
        return _open(self.address)

    def probe(self, path: str) -> None:
        """Write something and remove it, tried once; raises whatever pyarrow does."""
        self._write(path, b"embedsearch")
        self._remove(path)

    def names(self, folder: str) -> set[str]:
        """Of the objects in ``folder``, and of the folders there that have any below them."""
        return self._tried(lambda: self._names(folder))

    def sizes(self, paths: Sequence[str]) -> list[int | None]:
        """None for what is not there."""
        return self._tried(lambda: self._sizes(paths))

    def read(self, path: str) -> bytes:
        return self._tried(lambda: self._read(path))

    def write(self, path: str, content: bytes) -> None:
        self._tried(lambda: self._write(path, content))

    def fetch(self, path: str, target: Path) -> tuple[int, str]:
        """Copy to a file; the size and the checksum of what was copied."""
        return self._tried(lambda: self._fetch(path, target))

    def upload(self, source: Path, path: str) -> tuple[int, str]:
        """Copy from a file; the size and the checksum of what was copied."""
        return self._tried(lambda: self._upload(source, path))

    def remove(self, path: str) -> None:
        """An object, or all below it; or nothing."""
        self._tried(lambda: self._remove(path))

    def _names(self, folder: str) -> set[str]:
        """Found by all objects below it: Google's has no folders but those that somebody made."""
        from pyarrow.fs import FileSelector, FileType

        filesystem, root = self.opened
        above = join(root, folder)
        selector = FileSelector(above, allow_not_found=True, recursive=True)
        found = [i.path for i in filesystem.get_file_info(selector) if i.type is FileType.File]
        return {path.removeprefix(f"{above}/").partition("/")[0] for path in found}

    def _sizes(self, paths: Sequence[str]) -> list[int | None]:
        filesystem, root = self.opened
        found = filesystem.get_file_info([join(root, path) for path in paths])
        return [info.size for info in found]

    def _read(self, path: str) -> bytes:
        filesystem, root = self.opened
        with filesystem.open_input_stream(join(root, path)) as file:
            return bytes(file.read())

    def _fetch(self, path: str, target: Path) -> tuple[int, str]:
        filesystem, root = self.opened
        with filesystem.open_input_stream(join(root, path)) as file, target.open("wb") as copy:
            return _copy(file, copy)

    def _upload(self, source: Path, path: str) -> tuple[int, str]:
        with source.open("rb") as file, self._stream(path) as copy:
            return _copy(file, copy)

    def _write(self, path: str, content: bytes) -> None:
        with self._stream(path) as file:
            file.write(content)

    def _stream(self, path: str) -> Any:
        """To write to. Only a file system has folders, which come before their files."""
        filesystem, root = self.opened
        target = join(root, path)
        if filesystem.type_name == "local":
            filesystem.create_dir(str(PurePosixPath(target).parent), recursive=True)
        return filesystem.open_output_stream(target)

    def _remove(self, path: str) -> None:
        from pyarrow.fs import FileType

        filesystem, root = self.opened
        target = join(root, path)
        kind = filesystem.get_file_info(target).type
        with suppress(FileNotFoundError):  # another one removes it
            if kind is FileType.File:
                filesystem.delete_file(target)
            elif filesystem.type_name == "gcs":
                filesystem.delete_dir_contents(target, missing_dir_ok=True)
            elif kind is FileType.Directory:
                filesystem.delete_dir(target)

    def _tried(self, work: Callable[[], T]) -> T:
        for pause_s in PAUSES_S:
            try:
                return work()
            except FileNotFoundError:
                raise
            except OSError:
                time.sleep(pause_s)
        try:
            return work()
        except FileNotFoundError:
            raise
        except OSError as error:
            raise Unreachable(
                f"{REFUSED} {self.address} ({first_line(error)}): mend that, and give the same "
                "command again to go on"
            ) from error


def join(*parts: str) -> str:
    return "/".join(part for part in parts if part)


@functools.lru_cache(maxsize=8)
def _open(address: str) -> tuple[Any, str]:
    from pyarrow.fs import FileSystem

    if address.startswith(("gs:", "gcs:")) and "retry_limit_seconds" not in address:
        address += f"{'&' if '?' in address else '?'}retry_limit_seconds={_PATIENCE_S}"
    filesystem, root = FileSystem.from_uri(address)
    return filesystem, root.rstrip("/")


def _copy(source: Any, target: Any) -> tuple[int, str]:
    size, digest = 0, hashlib.sha256()
    while block := source.read(_BLOCK):
        target.write(block)
        digest.update(block)
        size += len(block)
    return size, digest.hexdigest()
