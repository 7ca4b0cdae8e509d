"""Measured numbers beside a paper's printed ones: how far apart, and which may be compared."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from embedsearch.report.printed import UNTRAINED, Printed, PrintedRow, PrintedTable, load_printed

_ALSO_CALLED = {"wiki1m-for-simcse": "wiki1m"}
"""A corpus as the papers' rows name it, by the name of the file that holds it."""


@dataclass(frozen=True)
class Against:
    """One encoder's measured numbers, and what a paper prints of others."""

    printed: Printed
    measured: Mapping[str, float]
    """By column: ``sts12``, ``avg7``, ``snips/5-shot``."""
    backbone: str
    corpus: str

    def to_json(self) -> dict[str, Any]:
        """All of it, for a program; a number that does not exist is null.

        ``tables`` are those with a measured column, whole; ``not_measured`` names the others, and
        ``not_printed`` what was measured and no table has.
        """
        shown = [each for each in self.printed.tables if self.measured.keys() & set(each.columns)]
        columns = {name for table in self.printed.tables for name in table.columns}
        return {
            "paper": self.printed.name,
            "authors": self.printed.paper,
            "title": self.printed.title,
            "source": self.printed.source,
            "measured_on": {"backbone": self.backbone, "corpus": self.corpus},
            "remark": self._remark([row for table in shown for row in table.rows]),
            "tables": [self._table(table) for table in shown],
            "not_measured": [
                f"{each.table} ({each.title})" for each in self.printed.tables if each not in shown
            ],
            "not_printed": [name for name in self.measured if name not in columns],
        }

    def _table(self, table: PrintedTable) -> dict[str, Any]:
        return {
            **table.model_dump(include={"table", "title", "protocol", "columns", "notes"}),
            "measured": {name: self.measured.get(name) for name in table.columns},
            "rows": [
                {
                    **row.model_dump(include={"label", "backbone", "corpus", "quoted"}),
                    "caution": self._caution(row),
                    "figures": self._figures(row, table.columns),
                }
                for row in table.rows
            ],
        }

    def _figures(self, row: PrintedRow, columns: Sequence[str]) -> dict[str, dict[str, Any]]:
        """By column what is printed, and how far above it the measured number is."""
        spreads: Sequence[float | None] = row.spreads or [None] * len(columns)
        return {
            name: {
                "printed": number,
                "spread": spread,
                "difference": self._above(number, name),
                "flag": row.flags.get(name),
            }
            for name, number, spread in zip(columns, row.numbers, spreads, strict=True)
        }

    def _above(self, number: float | None, column: str) -> float | None:
        measured = self.measured.get(column)
        return None if number is None or measured is None else measured - number

    def _caution(self, row: PrintedRow) -> str | None:
        """Why a row can't be compared; None where backbone and corpus are its own."""
        if self._is_alike(row):
            return None
        corpus = _trained(row.corpus, "on ") if row.corpus else "on a corpus it does not name"
        return f"{self._setting}; the paper's row is {row.backbone} {corpus}: not comparable"

    def _remark(self, rows: Sequence[PrintedRow]) -> str:
        """What was measured on, and which of ``rows`` are of the same; in one line."""
        alike = dict.fromkeys(row.label for row in rows if self._is_alike(row))
        if alike:
            return (
                f"{self._setting}; of the same backbone and corpus: {', '.join(alike)}; "
                "the other rows are not comparable"
            )
        if not rows:
            return self._setting
        backbones = _any_of(row.backbone for row in rows)
        corpora = _any_of(_trained(row.corpus, "on ") for row in rows if row.corpus)
        return f"{self._setting}; the paper's rows are {backbones}, {corpora}: not comparable"

    @property
    def _setting(self) -> str:
        """``none`` is said of a folder too: what it was trained on elsewhere is not known."""
        trained = "as it is" if self.corpus == UNTRAINED else f"trained on {self.corpus}"
        return f"measured on {self.backbone} {trained}"

    def _is_alike(self, row: PrintedRow) -> bool:
        return _last(row.backbone) == _last(self.backbone) and row.corpus == _corpus(self.corpus)


def against(paper: str, measured: Mapping[str, float], backbone: str, corpus: str) -> Against:
    """``measured`` beside what ``paper`` (``scd``, ``informin``, …) prints.

    ``backbone`` and ``corpus`` are what the measured encoder was made of, by name; the corpus of
    one that was not trained is ``none``. Raises ``UserError`` for an unknown paper.
    """
    return Against(load_printed(paper), measured, backbone, corpus)


def _trained(corpus: str, on: str) -> str:
    return "untrained" if corpus == UNTRAINED else on + corpus


def _any_of(words: Iterable[str]) -> str:
    """``a, b or c``; each once."""
    *others, last = dict.fromkeys(words)
    return f"{', '.join(others)} or {last}" if others else last


def _last(name: str) -> str:
    """The name of a model without its owner or folder."""
    return PurePosixPath(name).name.lower()


def _corpus(name: str) -> str:
    """A corpus by the name that the papers' rows would have for it, else by that of its file."""
    stem = PurePosixPath(name).name.lower().removesuffix(".txt").replace("_", "-")
    return _ALSO_CALLED.get(stem, stem)
