"""A paper's printed numbers beside measured ones, as a table for each of the paper's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console

from embedsearch.report.rows import narrow, show_line, show_rows


def show_against(console: Console, found: Mapping[str, Any]) -> None:
    """Print ``Against.to_json``: the columns that were measured, of each table that has any."""
    source = f"{found['authors']}, {found['source']}"
    show_line(console, f"{found['paper']}: {found['title']} ({source})")
    show_line(console, found["remark"])
    if found["tables"]:
        show_line(console, "beneath each printed number: the measured one less it")
    for table in found["tables"]:
        show_line(console, "")
        show_line(console, f"{table['table']}: {table['title']}; {table['protocol']}")
        for rows in narrow(_lines(table)):
            show_rows(console, rows)
        for remark in _remarks(table):
            show_line(console, remark)
    unprinted = [name for name in found["not_printed"] if "/" not in name]
    for kind, names in (("not measured", found["not_measured"]), ("not printed", unprinted)):
        if names:
            show_line(console, f"{kind}: {', '.join(names)}")


def _lines(table: Mapping[str, Any]) -> list[dict[str, str]]:
    """What was measured, then two lines for each printed row: its numbers, and the differences."""
    measured = {name: number for name, number in table["measured"].items() if number is not None}
    digits = {name: _digits(table["rows"], name) for name in measured}
    heads = {name: "avg" if name.endswith("_avg") else name for name in measured}
    lines = [{"": "measured"} | {heads[n]: f"{x:.{digits[n]}f}" for n, x in measured.items()}]
    for row in table["rows"]:
        figures = row["figures"]
        lines += [
            {"": row["label"]} | {heads[n]: _printed(figures[n], digits[n]) for n in measured},
            {"": ""} | {heads[n]: _difference(figures[n], digits[n]) for n in measured},
        ]
    return lines


def _printed(figure: Mapping[str, Any], digits: int) -> str:
    if figure["printed"] is None:
        return ""
    spread = "" if figure["spread"] is None else f" ± {figure['spread']:.{digits}f}"
    return f"{figure['printed']:.{digits}f}{spread}" + ("*" if figure["flag"] else "")


def _difference(figure: Mapping[str, Any], digits: int) -> str:
    return "" if figure["difference"] is None else f"{figure['difference']:+.{digits}f}"


def _digits(rows: Sequence[Mapping[str, Any]], column: str) -> int:
    """Two decimals, or as many as the column is printed with."""
    numbers = [row["figures"][column]["printed"] for row in rows]
    return max([2, *(len(str(number).partition(".")[2]) for number in numbers)])


def _remarks(table: Mapping[str, Any]) -> list[str]:
    out = []
    for row in table["rows"]:
        flags = [
            f"{name}: {figure['flag']}"
            for name, figure in row["figures"].items()
            if figure["flag"] and table["measured"][name] is not None
        ]
        out += [f"* {row['label']}, {'; '.join(flags)}"] if flags else []
    if left := [name for name, number in table["measured"].items() if number is None]:
        out.append(f"not measured: {', '.join(left)}")
    return [*out, *(f"note: {note}" for note in table["notes"])]
