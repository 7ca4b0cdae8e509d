import io
from typing import Any

from rich.console import Console

from embedsearch.report.tables import mean_and_spread, show_ranking


def entry(score: float, **fields: Any) -> dict[str, Any]:
    return {
        "score": score, "sd": None, "start_score": 50.0, "checkpoint": "/store/checkpoint",
        "values": {"lambda": 0.01, "alpha": 0.1, "pooling": "[cls]"}, "division": {},
        "seeds": [0], "scores": [score], "run_id": "a" * 32, "why": {}, "tests": {},
        "confirmed": False, **fields,
    }  # fmt: skip


def group(name: str = "dev demo", key: str = "0123456789") -> dict[str, Any]:
    return {"name": name, "key": key, "protocol": "spearman of cosine, x100"}


def ranking(*entries: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {
        "group": group(), "points": len(entries), "unscored": 0, "tied": 1,
        "varying": ["alpha", "lambda"], "best": list(entries), "others": [],
        "unconfirmed_higher": 0, **fields,
    }  # fmt: skip


def shown(value: dict[str, Any], terminal: bool = False) -> str:
    out = io.StringIO()
    console = Console(file=out, force_terminal=terminal, width=120, color_system=None)
    show_ranking(console, "scd", value)
    return out.getvalue()


def test_plain_lines() -> None:
    text = shown(ranking(entry(62.0)))
    assert "scd: best of 1 point on dev demo\n" in text
    assert "\nscore: 62.00\nuntrained: 50.00\nhyperparameters: alpha=0.1 lambda=0.01\n" in text
    assert "in all of them: pooling=[cls]\n" in text
    assert f"\nrun: {'a' * 32}\n" in text
    assert "checkpoint of 1: /store/checkpoint\n" in text
    assert "tie" not in text


def test_what_batches_were_divided_by_stands_beside_the_values() -> None:
    divided = entry(62.0, division={"chunk_size": 16})
    text = shown(ranking(divided, entry(61.0), varying=["alpha", "chunk_size"]))
    assert "hyperparameters: alpha=0.1 chunk_size=16\n" in text
    assert "hyperparameters: alpha=0.1\n" in text
    assert "in all of them: chunk_size=16 " in shown(ranking(divided, divided))


def test_a_table_on_a_terminal() -> None:
    text = shown(ranking(entry(62.0), entry(61.0)), terminal=True)
    assert "│ 62.00" in text
    assert "│ 61.00" in text


def test_test_scores_stand_beside_and_rank_nothing() -> None:
    tests = {"sts12/all": 40.0, "sts12/topic/a": 1.0}
    line = "tests of 1 (not ranked by): "
    assert f"{line}sts12/all 40.00\n" in shown(ranking(entry(62.0, tests=tests)))
    assert f"{line}avg7 60.00\n" in shown(ranking(entry(62.0, tests={**tests, "avg7": 60.0})))
    assert line not in shown(ranking(entry(62.0)))


def test_everything_is_shown_where_nothing_varies() -> None:
    text = shown(ranking(entry(62.0), varying=[]))
    assert "hyperparameters: alpha=0.1 lambda=0.01 pooling=[cls]" in text


def test_remarks() -> None:
    others = [{**group(key="abcdef99"), "points": 3}, {**group("dev wiki"), "points": 1}]
    text = shown(ranking(entry(50.0), tied=3, unscored=2, others=others))
    assert "a tie: the first 3 differ" in text
    assert "none beats the untrained score" in text
    assert "stopped early, failed or not at their end: 2 trials" in text
    assert "not compared: 3 points on dev demo (other contents, abcdef)" in text
    assert "not compared: 1 point on dev wiki\n" in text


def test_what_is_missing_has_its_reason() -> None:
    gone = entry(62.0, checkpoint=None, start_score=None, why={"checkpoint": "not kept"})
    text = shown(ranking(gone))
    assert "checkpoint of 1: none, not kept" in text
    assert "untrained: none" in text


def test_scores_with_their_spread() -> None:
    assert mean_and_spread([62.0], 62.0, None) == "62.00"
    assert mean_and_spread([62.0, 61.0], 61.5, 0.707) == "61.50 ± 0.71 (n=2)"


def test_it_is_said_which_are_confirmed_and_which_may_be_better() -> None:
    found = ranking(entry(62.0, confirmed=True), entry(63.0), unconfirmed_higher=1)
    text = shown(found)
    assert "confirmed: yes" in text and "confirmed: no" in text
    assert "1 unconfirmed point scored higher in the search" in text
    assert "confirmed" not in shown(ranking(entry(62.0)))
