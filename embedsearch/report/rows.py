"""Rows of cells: a table on a terminal, columns two spaces apart elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rich.console import Console
from rich.table import Table

WIDTH = 100
"""Columns of a terminal that a table should do with."""


def show_rows(console: Console, rows: Sequence[Mapping[str, str]]) -> None:
    """Print rows of the same columns under their names."""
    if console.is_terminal:
        table = Table(*rows[0])
        for row in rows:
            table.add_row(*row.values())
        console.print(table)
    else:
        for line in _aligned([list(rows[0]), *(list(row.values()) for row in rows)]):
            show_line(console, line)


def show_line(console: Console, text: str) -> None:
    """Print a line as it is, however long."""
    console.print(text, soft_wrap=True, markup=False, highlight=False)


def narrow(rows: Sequence[Mapping[str, str]]) -> Iterator[list[dict[str, str]]]:
    """The rows as tables at most ``WIDTH`` wide, each with the first column."""
    first, *others = rows[0]
    widths = {name: max(len(name), *(len(row[name]) for row in rows)) + 3 for name in rows[0]}
    taken = [first]
    for name in others:
        if len(taken) > 1 and 1 + sum(widths[each] for each in [*taken, name]) > WIDTH:
            yield [{each: row[each] for each in taken} for row in rows]
            taken = [first]
        taken.append(name)
    yield [{each: row[each] for each in taken} for row in rows]


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows of cells as lines, the columns two spaces apart."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
