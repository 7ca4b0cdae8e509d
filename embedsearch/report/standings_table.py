"""How methods stand to each other, in tables and words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import Console

from embedsearch.labels import assigned, count, duration
from embedsearch.report.confirmation_table import between
from embedsearch.report.rows import show_line, show_rows
from embedsearch.report.statistics.contest import BOOTSTRAP
from embedsearch.report.tables import mean_and_spread


def show_standings(console: Console, found: Mapping[str, Any]) -> None:
    """Print ``Standings.to_json``: scores, what they cost, verdicts, importance, what to know."""
    methods, budget = found["methods"], found["budget"]
    show_line(console, f"compared on {_together(methods)}")
    show_rows(console, [_score(row) for row in methods])
    trials, seconds = budget["trials"], budget["device_seconds"]
    show_line(console, f"best at {count(trials, 'trial')}, and at {duration(seconds)} of a device:")
    show_rows(console, [_budget(row) for row in methods])
    for line in (*_verdicts(found["pairs"]), *_importance(methods), *_remarks(found)):
        show_line(console, line)


def _together(methods: list[Mapping[str, Any]]) -> str:
    groups = dict.fromkeys(row["group"] for row in methods if not row["apart"])
    return "; ".join(groups)


def _score(row: Mapping[str, Any]) -> dict[str, str]:
    if row["confirmed"]:
        kind = "confirmed"
    else:
        kind = "optimistic: the search's best" if row["trains"] else "not trained"
    return {
        "method": row["method"],
        "dev score": mean_and_spread(row["scores"], row["mean"], row["sd"]),
        "95 %": between(row["low"], row["high"]),
        "what it is": kind,
        "search's best": f"{row['search_best']:.2f}",
        "point": assigned(row["values"], list(row["values"])),
    }


def _budget(row: Mapping[str, Any]) -> dict[str, str]:
    return {
        "method": row["method"],
        "trials": f"{row['trials']}" + (f" + {row['unscored']}" if row["unscored"] else ""),
        "device time": duration(row["device_seconds"]),
        "at equal trials": _expected(row["at_equal_trials"]),
        "at equal time": _expected(row["at_equal_device_seconds"]),
    }


def _expected(best: Mapping[str, Any] | None) -> str:
    if best is None:
        return "no trial"
    lies = f"{between(best['low'], best['high'])}, " if best["low"] < best["high"] else ""
    return f"{best['expected']:.2f} ({lies}k={best['trials']})"


def _verdicts(pairs: list[Mapping[str, Any]]) -> Iterator[str]:
    """Those of two that can be told; the others together, by what is missing."""
    untold: dict[str, list[str]] = {}
    for pair in pairs:
        first, second, by = pair["first"], pair["second"], pair["by"]
        if pair["low"] is None:
            untold.setdefault(by, []).append(f"{first} and {second}")
            continue
        sure = f"{pair['difference']:+.2f} ({between(pair['low'], pair['high'], '+')}; {by})"
        if pair["verdict"] == "not told apart":
            yield f"{first} and {second}: not told apart, {sure}"
        else:
            yield f"{first} is {pair['verdict']} than {second}: {sure}"
    for by, together in untold.items():
        yield f"not told apart, as {by} (`embedsearch confirm` gives more): {', '.join(together)}"


def _importance(methods: list[Mapping[str, Any]]) -> Iterator[str]:
    unknown: dict[str, list[str]] = {}
    for row in methods:
        if row["importance"]:
            shares = [f"{name} {100 * share:.0f} %" for name, share in row["importance"].items()]
            yield f"what matters in {row['method']} (PED-ANOVA): {', '.join(shares)}"
        else:
            unknown.setdefault(row["why"]["importance"], []).append(row["method"])
    for why, names in unknown.items():
        yield f"what matters in {', '.join(names)}: not known, {why}"


def _remarks(found: Mapping[str, Any]) -> Iterator[str]:
    for row in found["methods"]:
        if row["apart"]:
            sides = [f"{k} {own} for {others}" for k, (own, others) in row["apart"].items()]
            yield f"{row['method']} is on other ground: {', '.join(sides)}"
    for method, reason in found["left_out"].items():
        yield f"left out: {method}: {reason}"
    yield (
        "best at k trials: the mean over all choices of k of a search's finished trials (unbiased: "
        "Tang et al., 2020) and where nine in ten of them lie, exactly (all of its trials have "
        "no range); k at equal time is what that buys, trials without a score charged to the "
        "others"
    )
    if any(pair["by"] == BOOTSTRAP for pair in found["pairs"]):
        yield found["resampled"]
