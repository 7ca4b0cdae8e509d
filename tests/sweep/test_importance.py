"""Which hyperparameters matter, on trials whose scores are known to depend on one."""

from __future__ import annotations

import numpy as np
import pytest

from embedsearch.records import Scalar
from embedsearch.sweep.axis import Choice, Range
from embedsearch.sweep.search import FEWEST, importance, tried


def points(count: int) -> list[dict[str, Scalar]]:
    random = np.random.default_rng(0)
    return [
        {
            "alpha": float(10 ** random.uniform(-3, 0)),
            "batch": int(random.integers(1, 5)),
            "pooling": str(random.choice(["cls", "mean"])),
            "same": 1,
        }
        for _ in range(count)
    ]


def test_what_the_score_depends_on_matters_most() -> None:
    found = points(200)
    scores = [-abs(np.log10(float(str(point["alpha"]))) + 2) for point in found]
    shares = importance(found, scores, tried(found))
    assert next(iter(shares)) == "alpha" and shares["alpha"] > 0.5
    assert set(shares) == {"alpha", "batch", "pooling"}
    assert sum(shares.values()) == pytest.approx(1)
    by_pooling = [1.0 if point["pooling"] == "cls" else 0.0 for point in found]
    assert next(iter(importance(found, by_pooling, tried(found)))) == "pooling"


def test_too_few_trials_and_one_value_say_nothing() -> None:
    few = points(FEWEST - 1)
    assert importance(few, [0.0] * len(few), tried(few)) == {}
    same = [{"alpha": 1.0}] * 20
    assert importance(same, list(range(20)), tried(same)) == {}


def test_what_was_tried_spans_the_axes() -> None:
    rows: list[dict[str, Scalar]] = [
        {"a": 0.001, "b": 1, "c": None, "d": True, "e": 3, "gone": 1},
        {"a": 0.5, "b": 8, "c": 0.5, "d": False, "e": 3},
    ]
    assert tried(rows) == {
        "a": Range(0.001, 0.5, log=True),
        "b": Range(1, 8, integer=True),
        "c": Choice((None, 0.5)),
        "d": Choice((True, False)),
    }
