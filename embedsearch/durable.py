"""Writing that survives being killed: a file or a folder is there whole, or not at all."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any


def write_whole(target: Path, write: Callable[[Path], None]) -> None:
    """Let ``write`` make a file or folder under a temporary name, then put it at ``target``.

    Every byte is on disk before the rename, so whoever finds ``target`` finds it complete. A file
    is replaced in one step; a folder that is already there is moved aside first, so a reader who
    is killed in between finds ``target`` or its predecessor ``target.old`` (see ``whole_folder``).
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    _remove(draft)
    try:
        write(draft)
        for path in [draft, *draft.rglob("*")] if draft.is_dir() else [draft]:
            _sync(path)
        if draft.is_dir():
            _replace_folder(draft, target)
        else:
            draft.replace(target)
        _sync(target.parent)
    finally:
        _remove(draft)


def whole_folder(target: Path) -> Path | None:
    """The folder that ``write_whole`` left at ``target``; its predecessor after a kill; or None."""
    for folder in (target, _predecessor(target)):
        if folder.is_dir():
            return folder
    return None


def write_json(target: Path, value: Any) -> None:
    """Write ``value`` as JSON (NaN refused: it is no JSON), whole or not at all."""
    text = json.dumps(value, indent=1, sort_keys=True, allow_nan=False, ensure_ascii=False)
    write_whole(target, lambda draft: _write_text(draft, text + "\n"))


def _write_text(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def _replace_folder(draft: Path, target: Path) -> None:
    old = _predecessor(target)
    if target.exists():
        _remove(old)
        target.replace(old)
    draft.replace(target)
    _remove(old)


def _predecessor(target: Path) -> Path:
    return target.with_name(f"{target.name}.old")


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
