"""What was found, as a table on a terminal and as plain lines elsewhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.console import Console

from embedsearch.labels import assigned, count
from embedsearch.report.rows import show_line, show_rows


def show_ranking(console: Console, method: str, ranking: Mapping[str, Any]) -> None:
    """Print a ranking: its ``group``, the ``best`` of its ``points``, ties and ``others``."""
    group, entries = ranking["group"], ranking["best"]
    show_line(console, f"{method}: best of {count(ranking['points'], 'point')} on {group['name']}")
    show_line(console, f"scores: {group['protocol']}")
    varying = set(ranking["varying"]) or set(_shown(entries[0]))
    told = any(entry["confirmed"] for entry in entries)
    rows = [_row(rank, entry, varying, told) for rank, entry in enumerate(entries, 1)]
    if console.is_terminal:
        show_rows(console, rows)
    else:
        for row in rows:
            _lines(console, row)
    fixed = {k: v for k, v in _shown(entries[0]).items() if k not in varying}
    if fixed:
        show_line(console, f"in all of them: {assigned(fixed, sorted(fixed))}")
    for rank, entry in enumerate(entries, 1):
        place = entry["checkpoint"] or f"none, {entry['why']['checkpoint']}"
        show_line(console, f"checkpoint of {rank}: {place}")
    for rank, entry in enumerate(entries, 1):
        if entry["tests"]:
            show_line(console, f"tests of {rank} (not ranked by): {_tests(entry['tests'])}")
    for remark in _remarks(ranking):
        show_line(console, remark)


def show_comparison(console: Console, found: Mapping[str, Any]) -> None:
    """Print an experiment's table, ``Comparison.to_json``: what it is, its rows, what to know."""
    source = ", ".join(part for part in (found["paper"], found["table"]) if part)
    show_line(
        console, f"{found['experiment']}: {found['about']}" + (f" ({source})" if source else "")
    )
    show_line(console, found["setting"])
    rows = [_compared(row, found) for row in found["rows"]]
    show_rows(console, rows)
    for remark in _remarks_on_comparison(found):
        show_line(console, remark)


def mean_and_spread(scores: Sequence[float], mean: float, sd: float | None) -> str:
    """``62.41``, or ``62.41 ± 0.33`` over several seeds."""
    return f"{mean:.2f}" if sd is None else f"{mean:.2f} ± {sd:.2f} (n={len(scores)})"


def _row(rank: int, entry: Mapping[str, Any], varying: Iterable[str], told: bool) -> dict[str, str]:
    """``told``: whether any of them is confirmed, so that it must be said which."""
    start = entry["start_score"]
    kind = {"confirmed": "yes" if entry["confirmed"] else "no"} if told else {}
    return {
        "rank": str(rank),
        "score": mean_and_spread(entry["scores"], entry["score"], entry["sd"]),
        **kind,
        "untrained": "none" if start is None else f"{start:.2f}",
        "hyperparameters": assigned(_shown(entry), sorted(varying)),
        "seed": ", ".join(str(seed) for seed in entry["seeds"]),
        "run": entry["run_id"],
    }


def _shown(entry: Mapping[str, Any]) -> dict[str, Any]:
    """The values of an entry, and what its batches were divided by."""
    return {**entry["values"], **entry["division"]}


def _tests(scores: Mapping[str, float]) -> str:
    """The averages, or without any the tasks' own scores, without those of their parts."""
    averages = {name: value for name, value in scores.items() if "/" not in name}
    shown = averages or {name: x for name, x in scores.items() if name.count("/") == 1}
    return ", ".join(f"{name} {value:.2f}" for name, value in list(shown.items())[:8])


def _compared(row: Mapping[str, Any], found: Mapping[str, Any]) -> dict[str, str]:
    """One line of an experiment's table, by column."""
    if row["score"] is not None:
        score = mean_and_spread(row["scores"], row["score"], row["sd"])
    else:
        score = "missing" if row["missing"] else "failed" if row["failed"] else "not run"
    if row["label"] == found["baseline"]:
        difference = "baseline"
    else:
        tie = " (tie)" if row["tie"] else ""
        difference = "" if row["difference"] is None else f"{row['difference']:+.2f}{tie}"
    printed = {name: row["printed"].get(name) for name in found["figures"]}
    return {
        "row": row["label"],
        "varies": assigned(row["varies"], list(row["varies"])),
        "dev score": score,
        "difference": difference,
        **{f"printed {n}": "" if x is None else f"{x:.2f}" for n, x in printed.items()},
    }


def _remarks_on_comparison(found: Mapping[str, Any]) -> list[str]:
    rows = found["rows"]
    seeds = max((len(row["seeds"]) for row in rows), default=0)
    out = [
        f"dev score: mean ± sd over {seeds} seeds; a tie is less than the spread of the seeds"
        if seeds > 1
        else "dev score: of one seed, so a point or two may be chance (--seeds 3 shows the spread)"
    ]
    if found["figures"]:
        figures = "; ".join(f"{name}: {protocol}" for name, protocol in found["figures"].items())
        out.append(f"printed: by the paper, of another protocol than the dev score: {figures}")
    out += _without_score(rows)
    left = sum(row["not_run"] for row in rows)
    if left:
        out.append(f"stopped: {count(left, 'trial')} left; give the same command again to go on")
    trained = [row for row in rows if row["steps"] and row["score"] is not None]
    if idle := [row["name"] for row in trained if row["score"] <= (row["untrained"] or 0)]:
        out.append(f"no better than untrained: {', '.join(idle)}")
    return [*out, *(f"note: {note}" for note in found["notes"])]


def _without_score(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Why rows can't run here, or how their trials failed; each cause once."""
    reasons: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        causes = [("missing", row["missing"])] if row["missing"] else []
        for cause in [*causes, *(("failed", reason) for reason in row["failed"])]:
            reasons.setdefault(cause, []).append(row["name"])
    return [f"{kind}: {', '.join(names)}: {reason}" for (kind, reason), names in reasons.items()]


def _remarks(ranking: Mapping[str, Any]) -> list[str]:
    first, tied = ranking["best"][0], ranking["tied"]
    out = []
    if tied > 1:
        out.append(f"a tie: the first {tied} differ by less than the seeds' spread (--top {tied})")
    if first["start_score"] is not None and first["score"] <= first["start_score"]:
        out.append("none beats the untrained score")
    if first["confirmed"]:
        out.append("a confirmed score is the mean over fresh seeds, not the luckiest of the search")
    if ranking["unconfirmed_higher"]:
        points = count(ranking["unconfirmed_higher"], "unconfirmed point")
        out.append(f"{points} scored higher in the search: `embedsearch confirm` tells by how much")
    if ranking["unscored"]:
        out.append(
            f"stopped early, failed or not at their end: {count(ranking['unscored'], 'trial')}"
        )
    names = Counter(group["name"] for group in [ranking["group"], *ranking["others"]])
    for other in ranking["others"]:
        contents = f" (other contents, {other['key'][:6]})" if names[other["name"]] > 1 else ""
        out.append(f"not compared: {count(other['points'], 'point')} on {other['name']}{contents}")
    return out


def _lines(console: Console, row: Mapping[str, str]) -> None:
    for name, value in row.items():
        show_line(console, f"{name}: {value}")
