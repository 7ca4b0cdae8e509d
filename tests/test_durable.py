"""Files and folders that are there whole, or not at all."""

from collections.abc import Callable
from pathlib import Path

import pytest

from embedsearch.durable import (
    remove_drafts,
    remove_whole,
    whole_folder,
    whole_folders,
    write_json,
    write_text,
    write_whole,
)


def folder_of(text: str, fail: bool = False) -> Callable[[Path], None]:
    def write(draft: Path) -> None:
        draft.mkdir()
        (draft / "file").write_text(text)
        if fail:
            raise OSError("no space left")

    return write


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_folder_is_replaced_and_its_predecessor_kept_on_request(tmp_path: Path) -> None:
    target = tmp_path / "state"
    assert whole_folder(target) is None
    for text in ("1", "2", "3"):
        write_whole(target, folder_of(text), keep_predecessor=True)
    assert [(f / "file").read_text() for f in whole_folders(target)] == ["3", "2"]
    write_whole(target, folder_of("4"))
    assert names(tmp_path) == ["state"]
    remove_whole(target)
    remove_whole(target)
    assert names(tmp_path) == []


def test_what_fails_leaves_what_was_there(tmp_path: Path) -> None:
    write_whole(tmp_path / "state", folder_of("1"))
    with pytest.raises(OSError, match="no space"):
        write_whole(tmp_path / "state", folder_of("2", fail=True))
    with pytest.raises(ValueError, match="JSON"):
        write_json(tmp_path / "value.json", float("nan"))
    assert names(tmp_path) == ["state"]
    assert (tmp_path / "state" / "file").read_text() == "1"


def test_what_a_killed_writer_left_is_removed(tmp_path: Path) -> None:
    (tmp_path / ".result.json.draft").mkdir()
    (tmp_path / ".best.draft").mkdir()
    (tmp_path / ".best.draft" / "file").write_text("half")
    write_text(tmp_path / "result.json", "whole")
    assert names(tmp_path) == [".best.draft", "result.json"]
    remove_drafts(tmp_path)
    assert names(tmp_path) == ["result.json"]
