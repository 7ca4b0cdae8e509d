"""What an encoder scored: a table on a terminal, lines elsewhere, rows for a spreadsheet."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from embedsearch.report.rows import show_line

Row = Mapping[str, Any]
"""One task as an evaluation has it: name, kind, protocol, headline, scores, notes."""

COLUMNS = ("target", "task", "kind", "score", "value", "sd", "reason", "protocol", "fingerprint")


def show_scores(console: Console, found: Mapping[str, Any]) -> None:
    """Print all tasks with their headlines, the averages, and what each number is."""
    table = Table("task", "score", "of", "beside it", box=None, pad_edge=False, show_edge=False)
    table.columns[1].justify = "right"
    for row in found["tasks"]:
        table.add_row(row["name"], _value(_headline(row)), row["headline"], _beside(row))
    for name, score in found["averages"].items():
        table.add_row(name, _value(score), "average", score["reason"])
    if found["tasks"]:
        console.print(table)
    for protocol, names in _protocols(found["tasks"]).items():
        show_line(console, f"{', '.join(names)}: {protocol}")
    for row in found["tasks"]:
        remarks = [*_reasons(row["scores"]), *row["notes"]]
        if remarks:
            show_line(console, f"{row['name']}: {'; '.join(remarks)}")
    for missing in found["missing"]:
        show_line(console, f"not run: {missing['name']}: {missing['reason']}")


def to_csv(evaluations: Iterable[Mapping[str, Any]]) -> str:
    """Every score of every task of every encoder, a row each."""
    out = io.StringIO()
    writer = csv.DictWriter(out, COLUMNS, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    for found in evaluations:
        writer.writerows(_rows(found))
    return out.getvalue()


def _rows(found: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for row in found["tasks"]:
        whole = {**row, "target": found["target"], "task": row["name"]}
        yield from ({**whole, **score, "score": score["name"]} for score in row["scores"])
    for name, score in found["averages"].items():
        yield {**score, "target": found["target"], "task": name, "score": "average"}


def _headline(row: Row) -> Mapping[str, Any]:
    return next(score for score in row["scores"] if score["name"] == row["headline"])


def _beside(row: Row) -> str:
    """The other scores, those of parts (``topic/…``) left to JSON and CSV."""
    others = [s for s in row["scores"] if s["name"] != row["headline"] and "/" not in s["name"]]
    return "  ".join(f"{score['name']} {_value(score)}" for score in others[:8])


def _value(score: Mapping[str, Any]) -> str:
    if score["value"] is None:
        return "none"
    mark = "*" if score["reason"] else ""
    digits = 2 if abs(score["value"]) >= 10 else 3  # what is small is no percentage
    sd = "" if score["sd"] is None else f" ± {score['sd']:.{digits}f}"
    return f"{score['value']:.{digits}f}{sd}{mark}"


def _reasons(scores: Iterable[Mapping[str, Any]]) -> list[str]:
    """Why there is no value, each cause once."""
    causes: dict[str, list[str]] = {}
    for score in scores:
        if score["reason"]:
            causes.setdefault(score["reason"], []).append(score["name"])
    return [f"no {_few(names)}: {reason}" for reason, names in causes.items()]


def _few(names: Sequence[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def _protocols(rows: Iterable[Row]) -> dict[str, list[str]]:
    protocols: dict[str, list[str]] = {}
    for row in rows:
        protocols.setdefault(row["protocol"], []).append(row["name"])
    return protocols
