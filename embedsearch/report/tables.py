"""What was found, as a table on a terminal and as plain lines elsewhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from embedsearch.labels import assigned


def show_ranking(console: Console, method: str, ranking: Mapping[str, Any]) -> None:
    """Print a ranking: its ``group``, the ``best`` of its ``points``, ties and ``others``."""
    group, entries = ranking["group"], ranking["best"]
    _line(console, f"{method}: best of {_count(ranking['points'], 'point')} on {group['name']}")
    _line(console, f"scores: {group['protocol']}")
    varying = set(ranking["varying"]) or set(entries[0]["values"])
    rows = [_row(rank, entry, varying) for rank, entry in enumerate(entries, 1)]
    if console.is_terminal:
        console.print(_table(rows))
    else:
        for row in rows:
            _lines(console, row)
    fixed = {k: v for k, v in entries[0]["values"].items() if k not in varying}
    if fixed:
        _line(console, f"in all of them: {assigned(fixed, sorted(fixed))}")
    for rank, entry in enumerate(entries, 1):
        place = entry["checkpoint"] or f"none, {entry['why']['checkpoint']}"
        _line(console, f"checkpoint of {rank}: {place}")
    for remark in _remarks(ranking):
        _line(console, remark)


def mean_and_spread(scores: Sequence[float], mean: float, sd: float | None) -> str:
    """``62.41``, or ``62.41 ± 0.33`` over several seeds."""
    return f"{mean:.2f}" if sd is None else f"{mean:.2f} ± {sd:.2f} (n={len(scores)})"


def _row(rank: int, entry: Mapping[str, Any], varying: Iterable[str]) -> dict[str, str]:
    start = entry["start_score"]
    return {
        "rank": str(rank),
        "score": mean_and_spread(entry["scores"], entry["score"], entry["sd"]),
        "untrained": "none" if start is None else f"{start:.2f}",
        "hyperparameters": assigned(entry["values"], sorted(varying)),
        "seed": ", ".join(str(seed) for seed in entry["seeds"]),
        "run": entry["run_id"],
    }


def _remarks(ranking: Mapping[str, Any]) -> list[str]:
    first, tied = ranking["best"][0], ranking["tied"]
    out = []
    if tied > 1:
        out.append(f"a tie: the first {tied} differ by less than the seeds' spread (--top {tied})")
    if first["start_score"] is not None and first["score"] <= first["start_score"]:
        out.append("none beats the untrained score")
    if ranking["unscored"]:
        out.append(f"without a score: {_count(ranking['unscored'], 'trial')}")
    names = Counter(group["name"] for group in [ranking["group"], *ranking["others"]])
    for other in ranking["others"]:
        contents = f" (other contents, {other['key'][:6]})" if names[other["name"]] > 1 else ""
        out.append(f"not compared: {_count(other['points'], 'point')} on {other['name']}{contents}")
    return out


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _table(rows: Sequence[Mapping[str, str]]) -> Table:
    table = Table(*rows[0])
    for row in rows:
        table.add_row(*row.values())
    return table


def _lines(console: Console, row: Mapping[str, str]) -> None:
    for name, value in row.items():
        _line(console, f"{name}: {value}")


def _line(console: Console, text: str) -> None:
    console.print(text, soft_wrap=True, markup=False, highlight=False)
