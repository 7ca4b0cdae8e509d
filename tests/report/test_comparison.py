"""An experiment's numbers, and its table as text."""

import io
import json
from typing import Any

import pytest
from rich.console import Console

from embedsearch.records import Status, TrialResult
from embedsearch.report.comparison import Comparison, Line, names
from embedsearch.report.tables import show_comparison
from tests.report.test_live import ended, spec

TITLE = {
    "experiment": "table", "about": "a table", "paper": "us", "table": "Table 1",
    "figures": {"STS": "test, mean of five"}, "notes": ["mind this"],
}  # fmt: skip


def line(label: str, *alphas_and_seeds: tuple[float, int], **fields: Any) -> Line:
    specs = tuple(spec(alpha, seed) for alpha, seed in alphas_and_seeds)
    values = specs[0].point.values if specs else {}
    return Line(label, "scd", values, specs, **{"printed": {}, **fields})


BASE = line("full", (0.1, 0), (0.1, 1), printed={"STS": 73.96})
OTHER = line("half", (0.2, 0), (0.2, 1))


def comparison(scores: dict[str, list[float | None]], *lines: Line) -> Comparison:
    results = [
        ended(which, score, "NaN")
        for each in lines
        for which, score in zip(each.specs, scores.get(each.label, []), strict=False)
    ]
    found = {result.spec_id: result for result in results}
    return Comparison(TITLE, "preset demo", "full", lines, found)


def shown(found: Comparison, terminal: bool = False) -> str:
    out = io.StringIO()
    console = Console(file=out, force_terminal=terminal, width=120, color_system=None, markup=False)
    show_comparison(console, found.to_json())
    return out.getvalue()


def test_mean_spread_and_difference_to_the_baseline() -> None:
    found = comparison({"full": [60.0, 62.0], "half": [66.0, 66.0]}, BASE, OTHER)
    first, second = json.loads(json.dumps(found.to_json(), allow_nan=False))["rows"]
    assert (first["score"], first["difference"], first["printed"]) == (61, None, {"STS": 73.96})
    assert first["sd"] == pytest.approx(2**0.5)
    assert (second["score"], second["sd"], second["difference"], second["tie"]) == (66, 0, 5, False)
    assert (second["varies"], second["seeds"], second["untrained"]) == ({"alpha": 0.2}, [0, 1], 50)
    assert found.exit_code() == 0


def test_less_than_the_spread_of_the_seeds_is_a_tie() -> None:
    found = comparison({"full": [60.0, 62.0], "half": [62.0, 62.0]}, BASE, OTHER)
    assert found.to_json()["rows"][1]["tie"] is True
    assert "+1.00 (tie)" in shown(found)


def test_the_table_in_plain_lines() -> None:
    text = shown(comparison({"full": [60.0, 62.0], "half": [66.0, 66.0]}, BASE, OTHER))
    head, setting, columns, first, second, *rest = text.splitlines()
    assert head == "table: a table (us, Table 1)" and setting == "preset demo"
    assert columns.split("  ")[0] == "row" and columns.endswith("printed STS")
    assert " ".join(first.split()) == "full alpha=0.1 61.00 ± 1.41 (n=2) baseline 73.96"
    assert " ".join(second.split()) == "half alpha=0.2 66.00 ± 0.00 (n=2) +5.00"
    assert first.index("61.00") == columns.index("dev score") == second.index("66.00")
    assert "dev score: mean ± sd over 2 seeds" in rest[0]
    assert rest[1] == (
        "printed: by the paper, of another protocol than the dev score: STS: test, mean of five"
    )
    assert rest[2:] == ["note: mind this"]


def test_a_table_on_a_terminal_keeps_brackets() -> None:
    lines = [BASE, line("[cls] at test", (0.2, 0))]
    text = shown(comparison({"full": [60.0, 62.0], "[cls] at test": [61]}, *lines), terminal=True)
    assert "│ 61.00 ± 1.41 (n=2)" in text and "│ [cls] at test" in text


def test_what_has_no_score_says_why_once_and_the_others_stand() -> None:
    gone = [line("away", reason="no WordNet"), line("far", reason="no WordNet")]
    found = comparison({"full": [60.0, 62.0], "half": [None, None]}, BASE, OTHER, *gone)
    text = shown(found)
    assert "missing: away, far: no WordNet\n" in text
    assert "failed: half: diverged: NaN (seed 0)\nfailed: half: diverged: NaN (seed 1)\n" in text
    assert "61.00 ± 1.41" in text and found.exit_code() == 0
    assert [row["score"] for row in found.to_json()["rows"]] == [61, None, None, None]


def test_without_the_baseline_there_is_no_difference() -> None:
    found = comparison({"full": [None, None], "half": [66.0, 66.0]}, BASE, OTHER)
    assert found.to_json()["rows"][1]["difference"] is None
    assert found.exit_code() == 0
    assert comparison({"full": [None] * 2, "half": [None] * 2}, BASE, OTHER).exit_code() == 1


def test_what_was_stopped_says_how_to_go_on() -> None:
    found = comparison({"full": [60.0, 62.0], "half": [66.0]}, BASE, OTHER)
    assert found.exit_code() == 130
    assert "stopped: 1 trial left; give the same command again" in shown(found)
    broken = TrialResult(BASE.specs[0].id, Status.INTERRUPTED, best_score=99.0)
    alone = Comparison(TITLE, "", "full", [BASE], {broken.spec_id: broken})
    assert alone.to_json()["rows"][0]["score"] is None


def test_no_better_than_untrained_and_one_seed_are_said() -> None:
    text = shown(comparison({"full": [50.0]}, line("full", (0.1, 0))))
    assert "no better than untrained: full\n" in text and "of one seed" in text


def test_names_tell_trials_apart() -> None:
    two = [line("grid", (0.2, 0), (0.2, 1)), line("grid", (0.3, 0)), line("full", (0.1, 0))]
    assert list(names(two).values()) == [
        "grid (alpha=0.2) seed=0", "grid (alpha=0.2) seed=1", "grid (alpha=0.3)", "full",
    ]  # fmt: skip
