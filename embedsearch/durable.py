"""Writing that survives being killed: a file or a folder is there whole, or not at all."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any


def write_whole(
    target: Path, write: Callable[[Path], object], *, keep_predecessor: bool = False
) -> None:
    """Let ``write`` make a file or folder under a temporary name, then put it at ``target``.

    Every byte is on disk before the rename, so whoever finds ``target`` finds it complete. A file
    is replaced in one step; a folder that is already there is moved aside first, so a reader who
    is killed in between finds ``target`` or its predecessor (see ``whole_folders``), which is
    removed at the end unless it is to be kept. What a killed writer of ``target`` left is removed:
    two at once would be in each other's way, so whoever may not be alone holds a lock.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = _draft(target)
    _remove(draft)
    try:
        write(draft)
        for path in [draft, *draft.rglob("*")] if draft.is_dir() else [draft]:
            _sync(path)
        if draft.is_dir():
            _replace_folder(draft, target, keep_predecessor)
        else:
            draft.replace(target)
        _sync(target.parent)
    finally:
        _remove(draft)


def write_json(target: Path, value: Any) -> None:
    """Write ``value`` as JSON (NaN refused: it is no JSON), whole or not at all."""
    text = json.dumps(value, indent=1, sort_keys=True, allow_nan=False, ensure_ascii=False)
    write_text(target, text + "\n")


def write_text(target: Path, text: str) -> None:
    """Write ``text`` as UTF-8, whole or not at all."""
    write_whole(target, lambda draft: _fill(draft, text))


def whole_folder(target: Path) -> Path | None:
    """The folder that ``write_whole`` left at ``target``; its predecessor after a kill; or None."""
    return next(iter(whole_folders(target)), None)


def whole_folders(target: Path) -> list[Path]:
    """What there is of ``target`` and its predecessor, the newer first."""
    return [folder for folder in (target, _predecessor(target)) if folder.is_dir()]


def remove_whole(target: Path) -> None:
    """Remove a file or folder, its predecessor included: none is ever found in part."""
    for path in (_predecessor(target), target):
        draft = _draft(path)
        _remove(draft)
        if path.exists():
            path.replace(draft)
            _remove(draft)


def remove_drafts(folder: Path) -> None:
    """Remove what killed writers left in ``folder``; call it where nobody else writes there."""
    for draft in folder.glob(f".*{_DRAFT}"):
        _remove(draft)


_DRAFT = ".draft"


def _draft(target: Path) -> Path:
    return target.with_name(f".{target.name}{_DRAFT}")


def _fill(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def _replace_folder(draft: Path, target: Path, keep_predecessor: bool) -> None:
    old = _predecessor(target)
    if target.exists():
        remove_whole(old)
        target.replace(old)
    draft.replace(target)
    if not keep_predecessor:
        remove_whole(old)


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
