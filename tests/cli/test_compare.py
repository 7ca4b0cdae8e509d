"""``embedsearch compare`` on made-up trials."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from embedsearch.data.pairs import read_dev_pairs
from embedsearch.records import CONFIRM, Point, Source, Status, Sweep, TrialSpec
from embedsearch.tracking.store import Store
from embedsearch.tracking.writer import Writer
from tests.cli.test_commands import run
from tests.tracking.conftest import (
    fresh_database,
    make_result,
    make_spec,
    record,
    store_at,
)

__all__ = ["fresh_database", "run", "store_at"]

Run = Callable[..., tuple[int, str, str]]
DEMO = read_dev_pairs("demo")


@pytest.fixture
def store(store_at: Callable[[Path], Store], tmp_path: Path) -> Store:
    return store_at(tmp_path / "mlruns")


def spec_of(method: str, alpha: float, seed: int = 0, **parts: Any) -> TrialSpec:
    spec = make_spec(alpha, seed=seed)
    target = f"embedsearch.methods.{method}:{method}"
    dev = Source("demo", DEMO.fingerprint, DEMO.name)
    point = Point(method, target, {"alpha": alpha, "pooling": "mean"})
    return replace(spec, **{"point": point, "dev": dev, **parts})


def searched(store: Store, method: str, *scores: float | None, **parts: Any) -> None:
    """One point for each score; None for one that failed. Each cost two device-seconds."""
    specs = [spec_of(method, 0.1 * (place + 1), **parts) for place in range(len(scores))]
    results = {
        spec.id: make_result(spec, score, Status.FAILED if score is None else Status.FINISHED)
        for spec, score in zip(specs, scores, strict=True)
    }
    record(Writer(store), Sweep(method, "g", "demo", tuple(specs)), results)


def confirmed(store: Store, method: str, noise: float, seeds: int = 3, keep: bool = True) -> None:
    """The method's first point again; its similarities are the gold scores with noise."""
    random = np.random.default_rng([len(method), int(10 * noise)])
    specs, results = [], {}
    for seed in range(1, seeds + 1):
        similar = (DEMO.gold + random.normal(0, noise, len(DEMO))).round(6)
        score = 100 * float(stats.spearmanr(similar, DEMO.gold).statistic)
        spec = spec_of(method, 0.1, seed)
        kept = tuple(similar.tolist()) if keep else ()
        results[spec.id] = make_result(spec, score, similarities=kept)
        specs.append(spec)
    record(Writer(store), Sweep(method, CONFIRM, "demo", tuple(specs)), results)


def compared(run: Run, *words: str) -> dict[str, Any]:
    code, out, err = run("compare", *words, "--json")
    assert code == 0, err
    found: dict[str, Any] = json.loads(out)
    return found


def test_equal_budgets_charge_what_failed(run: Run, store: Store) -> None:
    searched(store, "scd", 60, 62, 64, None, None)
    searched(store, "simcse", 61, 61)
    found = compared(run, "scd", "simcse")
    assert found["budget"] == {"trials": 2, "device_seconds": 4}
    scd, simcse = found["methods"]
    assert (scd["method"], scd["trials"], scd["unscored"]) == ("scd", 3, 2)
    assert scd["device_seconds"] == 10
    assert scd["at_equal_trials"]["expected"] == pytest.approx((62 + 64 + 64) / 3)
    assert scd["at_equal_device_seconds"]["trials"] == 1, "one that has a score costs 10 / 3"
    assert simcse["at_equal_device_seconds"]["trials"] == 2
    assert [best["trials"] for best in scd["curve"]] == [1, 2, 3]


def test_fresh_seeds_are_counted_and_the_search_is_called_optimistic(
    run: Run, store: Store
) -> None:
    for method, noise in (("scd", 1.0), ("simcse", 3.0)):
        searched(store, method, 90, 80)
        confirmed(store, method, noise)
    searched(store, "informin", 99)
    found = compared(run, "simcse", "scd", "informin")
    assert [row["confirmed"] for row in found["methods"]] == [False, True, True]
    pairs = {(p["first"], p["second"]): p for p in found["pairs"]}
    sure = pairs["scd", "simcse"]
    assert (sure["verdict"], sure["by"]) == ("better", "paired bootstrap")
    assert sure["low"] < sure["difference"] < sure["high"]
    assert pairs["informin", "scd"]["verdict"] == "not told apart"
    assert pairs["informin", "scd"]["low"] is None
    _, text, _ = run("compare", "simcse", "scd", "informin")
    assert "optimistic: the search's best" in text and "scd is better than simcse: +" in text
    assert (
        "not told apart, as informin has one seed (`embedsearch confirm` gives more): informi"
        in text
    )


def test_without_similarities_the_seeds_tell(run: Run, store: Store) -> None:
    for method, noise in (("scd", 1.0), ("simcse", 3.0)):
        searched(store, method, 90, 80)
        confirmed(store, method, noise, keep=False)
    [pair] = compared(run, "scd", "simcse")["pairs"]
    assert (pair["by"], pair["verdict"]) == ("t-interval over seeds", "better")


def test_other_ground_is_said_and_other_dev_pairs_are_left_out(run: Run, store: Store) -> None:
    searched(store, "scd", 60, 61)
    searched(store, "simcse", 70, total_steps=99)
    searched(store, "simcse", 60, 61, 62)
    searched(store, "gur", 55, backbone=Source("/models/t5", "t" * 16, "nano-t5"))
    searched(store, "informin", 80, dev=Source("/dev", "e" * 16, "stsb-dev"))
    found = compared(run, "scd", "simcse", "gur", "informin")
    assert [row["method"] for row in found["methods"]] == ["simcse", "scd", "gur"]
    assert found["methods"][0]["search_best"] == 62, "of the group that both have"
    assert found["methods"][2]["apart"] == {"backbone": ["nano-t5", "nano"]}
    assert "stsb-dev" in found["left_out"]["informin"]
    _, text, _ = run("compare", "scd", "gur")
    assert "gur is on other ground: backbone nano-t5 for nano" in text
    only = compared(run, "scd", "informin", "--dev", "stsb-dev")
    assert [row["method"] for row in only["methods"]] == ["informin"]


def test_what_does_not_train_needs_no_seeds(run: Run, store: Store) -> None:
    searched(store, "frozen", 50, 51, total_steps=0)
    searched(store, "scd", 60, 61, 62)
    found = compared(run, "scd", "frozen")
    assert found["budget"]["trials"] == 3, "what takes seconds sets no budget"
    frozen = found["methods"][1]
    assert (frozen["trains"], frozen["at_equal_trials"]["trials"]) == (False, 2)


def test_importance_or_why_not(run: Run, store: Store) -> None:
    searched(store, "scd", *(60 - abs(place - 3) for place in range(12)))
    searched(store, "simcse", 60, 61)
    searched(store, "informin", 60)
    found = {row["method"]: row for row in compared(run, "scd", "simcse", "informin")["methods"]}
    assert found["scd"]["importance"] == {"alpha": 1.0}
    assert "it takes 10" in found["simcse"]["why"]["importance"]
    assert "the same values" in found["informin"]["why"]["importance"]


def test_a_figure(run: Run, store: Store, tmp_path: Path) -> None:
    searched(store, "scd", 60, 61, 62)
    code, out, _ = run("compare", "scd", "--figure", "all.png")
    assert code == 0 and out.endswith("figure: all.png\n")
    assert (tmp_path / "all.png").read_bytes().startswith(b"\x89PNG")
    assert json.loads(run("compare", "scd", "--figure", "ALL.PNG", "--json")[1])


@pytest.mark.parametrize("name", ["all.txt", "all", "all.xyz"])
def test_a_figure_is_a_png_by_name_too(name: str, run: Run, store: Store, tmp_path: Path) -> None:
    searched(store, "scd", 60, 61, 62)
    code, out, err = run("compare", "scd", "--figure", name)
    assert (code, out) == (2, "")
    assert f"{name}: figures are written as PNG, give a name that ends in .png\n" in err
    assert not (tmp_path / name).exists()


def test_nothing_to_compare_is_one_sentence(run: Run) -> None:
    for words, sentence in (
        (("scd",), "no scd trial has a score, run `python -m embedsearch.sweep scd --grid coarse`"),
        (("scb",), "no method 'scb'"),
    ):
        code, out, err = run("compare", *words)
        assert (code, out) == (2, "") and sentence in err and err.count("\n") == 1
    assert not Path("mlruns").exists()
