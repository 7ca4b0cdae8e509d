"""A labelled set in a folder of parts: training, validation and test."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from embedsearch.data.labelled import Example, read_parallel, read_table
from embedsearch.errors import UserError


def has_part(folder: Path, part: str) -> bool:
    """Whether ``folder`` holds ``part`` (``train``, ``valid``, ``test``) in either layout."""
    return (folder / part).is_dir() or (folder / f"{part}.tsv").is_file()


def read_part(folder: Path, part: str) -> Sequence[Example]:
    """``PART/seq.in`` and ``PART/label`` line by line, or ``PART.tsv`` of label TAB text.

    Raises ``UserError`` where there is neither, or nothing in it.
    """
    if not has_part(folder, part):
        raise UserError(
            f"{folder}: it holds neither {part}/seq.in with {part}/label nor {part}.tsv of label "
            "TAB text; give a folder that does"
        )
    if (folder / part).is_dir():
        place = folder / part / "seq.in"
        rows = list(read_parallel(place, place.with_name("label")))
    else:
        place = folder / f"{part}.tsv"
        rows = list(read_table(place, "first"))
    if not rows:
        raise UserError(f"{place}: there is no text in it; give a file that has some")
    return rows


def only_folder(name: str, files: Sequence[Path]) -> Path:
    """The one folder that ``files`` of the task ``name`` should be; ``UserError`` if not."""
    if len(files) != 1:
        raise UserError(f"task '{name}': {len(files)} files; give one folder with its parts")
    return files[0]
