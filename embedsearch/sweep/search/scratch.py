"""Where Ray writes what it notes of trials; none of it is ever read again."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from embedsearch.place import Place


@contextmanager
def scratch(place: Place, name: str, shared: bool = True) -> Iterator[dict[str, Any]]:
    """What Ray's ``RunConfig`` is told of a folder, which is removed at the end; ``shared``: that
    several nodes write there."""
    if shared and place.bucket:
        filesystem, root = place.bucket.objects.opened
        path = f"{root}/ray/{name}"
        try:
            yield {"storage_filesystem": filesystem, "storage_path": path}
        finally:
            with suppress(OSError):
                filesystem.delete_dir(path)
    else:
        folder = place.folder.resolve() / "ray" / name if shared else Path(tempfile.mkdtemp())
        folder.mkdir(parents=True, exist_ok=True)
        try:
            yield {"storage_path": str(folder)}
        finally:
            shutil.rmtree(folder, ignore_errors=True)
