"""The table of an evaluation, and its rows for a spreadsheet."""

from __future__ import annotations

import csv
import io
from typing import Any

from rich.console import Console

from embedsearch.report.scores import show_scores, to_csv


def score(name: str, value: float | None, sd: float | None = None, reason: str = "") -> Any:
    return {"name": name, "value": value, "sd": sd, "reason": reason}


def task(
    name: str, *scores: Any, protocol: str = "all: Spearman", notes: list[str] | None = None
) -> Any:
    return {
        "name": name,
        "kind": "sts",
        "protocol": protocol,
        "headline": scores[0]["name"],
        "fingerprint": "f" * 16,
        "scores": list(scores),
        "notes": notes or [],
    }


FOUND = {
    "target": "nano",
    "tasks": [
        task("sts12", score("all", 41.234), score("mean", 50.0), score("topic/a", 1.0)),
        task("sts13", score("all", None, reason="all gold scores are the same"), notes=["2 pairs"]),
        task("agnews", score("accuracy", 60.0, 1.25), protocol="K-means"),
    ],
    "averages": {"avg5": score("avg5", 41.234, reason="1 of 5, without sts13")},
    "missing": [{"name": "mpqa", "kind": "transfer", "reason": "no MPQA under data"}],
}


def shown() -> str:
    console = Console(file=io.StringIO(), width=100)
    show_scores(console, FOUND)
    text: str = console.file.getvalue()  # type: ignore[attr-defined]
    return text


def test_every_number_has_its_name_and_its_protocol() -> None:
    text = shown()
    for line in (
        "sts12, sts13: all: Spearman",
        "agnews: K-means",
        "sts13: no all: all gold scores are the same; 2 pairs",
        "not run: mpqa: no MPQA under data",
    ):
        assert line in text
    rows = {line.split()[0]: line for line in text.splitlines() if line.strip()}
    assert "60.00 ± 1.25  accuracy" in rows["agnews"]
    assert "mean 50.00" in text
    assert "topic/a" not in text


def test_what_lacks_something_is_marked() -> None:
    [line] = [line for line in shown().splitlines() if line.startswith("avg5")]
    assert "41.23*" in line
    assert "1 of 5, without sts13" in line


def test_a_row_for_each_score() -> None:
    rows = list(csv.DictReader(io.StringIO(to_csv([FOUND]))))
    assert [(row["task"], row["score"]) for row in rows] == [
        ("sts12", "all"),
        ("sts12", "mean"),
        ("sts12", "topic/a"),
        ("sts13", "all"),
        ("agnews", "accuracy"),
        ("avg5", "average"),
    ]
    assert (rows[3]["value"], rows[3]["reason"]) == ("", "all gold scores are the same")
    assert float(rows[0]["value"]) == 41.234
