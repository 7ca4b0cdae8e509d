"""The expected best of k trials, against all subsets."""

from __future__ import annotations

from itertools import combinations, pairwise
from statistics import fmean

import numpy as np
import pytest

from embedsearch.report.statistics.expected_best import curve, expected_best


def test_worked_by_hand() -> None:
    """Pairs of 1, 2, 4: the best is 2, 4, 4, so 10/3; with replacement it would be 25/9."""
    assert expected_best([4, 1, 2], 2).expected == pytest.approx(10 / 3)
    assert expected_best([4, 1, 2], 1).expected == pytest.approx(7 / 3)
    assert expected_best([4, 1, 2], 3).expected == pytest.approx(4)


@pytest.mark.parametrize("trials", range(1, 9))
def test_it_is_the_mean_over_all_subsets(trials: int) -> None:
    scores = np.random.default_rng(0).normal(60, 2, 8).round(1).tolist()
    scores[3] = scores[5]
    bests = sorted(max(chosen) for chosen in combinations(scores, trials))
    found = expected_best(scores, trials)
    assert found.expected == pytest.approx(fmean(bests))
    low, high = (np.quantile(bests, q, method="inverted_cdf") for q in (0.05, 0.95))
    assert (found.low, found.high) == (low, high)


def test_order_is_nothing_and_scale_carries_over() -> None:
    scores = np.random.default_rng(1).normal(60, 2, 40)
    found, other = (
        expected_best(scores.tolist(), 7),
        expected_best((3 * scores[::-1] + 5).tolist(), 7),
    )
    assert other.expected == pytest.approx(3 * found.expected + 5)
    assert other.low == pytest.approx(3 * found.low + 5)


def test_it_is_unbiased_where_drawing_with_replacement_is_not() -> None:
    """The best of 4 uniform numbers is 0.8 on average; seen through samples of 6."""
    random = np.random.default_rng(2)
    ordered = np.sort(random.random((4000, 6)), axis=1)
    ours = fmean(expected_best(row.tolist(), 4).expected for row in ordered)
    shares = np.diff((np.arange(7) / 6) ** 4)  # Dodge et al. (2019)
    assert ours == pytest.approx(0.8, abs=0.008)
    assert float((ordered @ shares).mean()) < 0.78


def test_a_curve_rises_to_the_best_and_is_short_and_exact_for_many() -> None:
    scores = np.random.default_rng(3).normal(60, 2, 10_000).tolist()
    found = curve(scores)
    assert found[0].expected == pytest.approx(fmean(scores)) and found[-1].trials == 10_000
    assert found[-1].expected == found[-1].low == found[-1].high == max(scores)
    assert len(found) <= 100
    assert all(a.expected <= b.expected for a, b in pairwise(found))
    assert curve([]) == []


@pytest.mark.parametrize("trials", [0, 4])
def test_more_than_there_are_is_refused(trials: int) -> None:
    with pytest.raises(ValueError, match=f"best of {trials} out of 3"):
        expected_best([1, 2, 3], trials)
