"""How sure a search's leaders are, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import Console

from embedsearch.labels import count
from embedsearch.report.rows import show_line, show_rows
from embedsearch.report.statistics.contest import BOOTSTRAP
from embedsearch.report.tables import mean_and_spread


def show_confirmation(console: Console, found: Mapping[str, Any]) -> None:
    """Print ``Confirmation.to_json``: a row a point, the tied set, and what the numbers are."""
    show_rows(console, [_row(row) for row in found["points"]])
    for remark in _remarks(found):
        show_line(console, remark)


def between(low: float | None, high: float | None, sign: str = "") -> str:
    """``62.10 to 63.05``."""
    if low is None or high is None:
        return "none"
    return f"{low:{sign}.2f} to {high:{sign}.2f}"


def _row(row: Mapping[str, Any]) -> dict[str, str]:
    scores, difference = row["scores"], row["difference"]
    return {
        "point": row["name"],
        "search": f"{row['search_score']:.2f}",
        "mean ± sd": mean_and_spread(scores, row["mean"], row["sd"]) if scores else "none",
        "95 %": between(row["low"], row["high"]),
        "to the best": f"{difference['difference']:+.2f}" if difference else "",
        "95 % of it": between(difference["low"], difference["high"], "+") if difference else "",
        "": row["verdict"] or "no score",
    }


def _remarks(found: Mapping[str, Any]) -> Iterator[str]:
    points, tied = found["points"], found["tied"]
    if len(tied) > 1:
        yield f"not told apart: {len(tied)} points tie with the best: {'; '.join(tied)}"
    elif tied and len(points) > 1:
        yield f"the best by itself: {tied[0]}"
    yield (
        f"search: the best seed of the search, which is optimistic, being the best of "
        f"{count(found['of_points'], 'point')}; mean ± sd: over fresh seeds alone; 95 %: by "
        "Student's t over them"
    )
    ways = {row["difference"]["by"] for row in points if row["difference"]}
    for way in sorted(ways):
        yield f"to the best: {found['resampled'] if way == BOOTSTRAP else way}"
    for row in points:
        for reason in row["failed"]:
            yield f"failed: {row['name']}: {reason}"
    if left := sum(row["not_run"] for row in points):
        yield f"stopped: {count(left, 'trial')} left; give the same command again to go on"
