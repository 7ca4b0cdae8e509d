"""Measures of rankings: worked by hand, against scikit-learn and a naive count, and ties."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import ndcg_score

from embedsearch.evaluation.ranking import DEPTH, Floats, measures, ranked_gains

Gains = list[dict[int, int]]


def scored(scores: Floats, gains: Gains) -> dict[str, float]:
    return measures(ranked_gains(lambda part: scores[part], scores.shape[1], gains), gains)


def test_worked_by_hand() -> None:
    scores = np.array([[0.1, 0.9, 0.5, 0.3], [0.4, 0.3, 0.2, 0.1]])
    found = scored(scores, [{2: 3, 0: 1}, {0: 1}])
    gain = 3 / np.log2(3) + 1 / np.log2(5)
    first = gain / (3 + 1 / np.log2(3))
    assert found["ndcg@10"] == pytest.approx(100 * (first + 1) / 2)
    assert found["mrr@10"] == pytest.approx(100 * (1 / 2 + 1) / 2)
    assert found["recall@10"] == found["recall@100"] == 100


def test_agrees_with_scikit_learn_and_a_naive_count() -> None:
    random = np.random.default_rng(0)
    scores = random.normal(size=(30, 300))
    grades = random.integers(-20, 5, size=scores.shape).clip(min=0)
    gains: Gains = [{int(d): int(row[d]) for d in row.nonzero()[0]} for row in grades]
    found = scored(scores, gains)
    assert found["ndcg@10"] == pytest.approx(100 * ndcg_score(grades, scores, k=10))
    ranks = [
        [sorted(-row).index(-row[d]) + 1 for d in g] for row, g in zip(scores, gains, strict=True)
    ]
    for k in (10, 100):
        recalls = [np.mean([rank <= k for rank in r]) for r in ranks]
        assert found[f"recall@{k}"] == pytest.approx(100 * np.mean(recalls))
    reciprocal = [1 / min(r) if min(r) <= 10 else 0 for r in ranks]
    assert found["mrr@10"] == pytest.approx(100 * np.mean(reciprocal))


def test_of_equals_the_earlier_stands_first() -> None:
    scores = np.zeros((1, 3 * DEPTH))
    for place, recall in ((DEPTH - 1, 100), (DEPTH, 0)):
        assert scored(scores, [{place: 1}])["recall@100"] == recall
    scores[0, -1] = 1
    assert scored(scores, [{0: 1}])["mrr@10"] == 50
    assert scored(scores, [{DEPTH - 1: 1}])["recall@100"] == 0


def test_what_is_not_found_counts_for_nothing() -> None:
    scores = np.full((1, 5), -np.inf)
    scores[0, 3] = 0.2
    assert set(scored(scores, [{0: 1}]).values()) == {0}
    assert set(scored(scores, [{3: 1}]).values()) == {100}


def test_parts_are_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(1)
    scores = random.normal(size=(7, 20))
    gains: Gains = [{int(d): 1} for d in random.integers(0, 20, 7)]
    whole = scored(scores, gains)
    monkeypatch.setattr("embedsearch.evaluation.ranking._CELLS", 40)
    assert scored(scores, gains) == whole
