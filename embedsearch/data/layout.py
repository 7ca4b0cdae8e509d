"""Where in a folder of evaluation data a set lies."""

from __future__ import annotations

from pathlib import Path

_BENCHMARKS = (
    "",
    "downstream",
    "SentEval/downstream",
    "data/downstream",
    "SentEval/data/downstream",
)


def find(root: Path, kind: str, place: str) -> Path | None:
    """The file or folder ``place`` of a ``kind`` of tasks under ``root``; None where it is not.

    ``root`` may be SentEval's ``downstream``, a folder above it, a folder with one folder for each
    kind (``clustering``, ``intent``, ``retrieval``), or such a folder itself.
    """
    folders = [*_BENCHMARKS, kind]
    return next((path for folder in folders if (path := root / folder / place).exists()), None)
