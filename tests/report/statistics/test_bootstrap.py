"""Resampled correlations, against ranking every resample anew."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from embedsearch.report.statistics.bootstrap import (
    centred_ranks,
    draw_counts,
    draw_seed_weights,
    resampled_spearman,
)


def test_ranks_worked_by_hand() -> None:
    """5, 5, 7, 9 with counts 1, 2, 0, 1: ranks 2, 2, -, 4 less 2.5; the absent lies between."""
    ranks = centred_ranks(np.array([5.0, 5.0, 7.0, 9.0]), np.array([[1.0, 2, 0, 1]]).T)
    assert ranks.T.tolist() == [[-0.5, -0.5, 1.0, 1.5]]


def test_each_resample_has_scipys_spearman() -> None:
    random = np.random.default_rng(0)
    gold = random.integers(0, 6, 40).astype(float)
    found = (gold + random.normal(0, 2, 40)).round(1)
    counts = draw_counts(40, 50, random)
    assert set(counts.sum(0)) == {40}
    ours = resampled_spearman(found, gold, counts)
    for row, value in zip(counts.T, ours, strict=True):
        pairs = np.repeat(np.arange(40), row.astype(int))
        assert value == pytest.approx(100 * stats.spearmanr(found[pairs], gold[pairs]).statistic)


def test_what_keeps_the_order_changes_nothing_and_a_constant_has_none() -> None:
    random = np.random.default_rng(1)
    first, gold, counts = random.random(30), random.random(30), draw_counts(30, 20, random)
    assert resampled_spearman(first, gold, counts) == pytest.approx(
        resampled_spearman(np.exp(5 * first), gold, counts)
    )
    assert np.isnan(resampled_spearman(np.ones(30), gold, counts)).all()


def test_resampled_seeds_vary_as_their_mean_does() -> None:
    """The variance of the mean of n seeds is s² / n, in the resamples too."""
    scores = np.array([60.0, 61.0, 61.5, 63.0, 60.2])
    means = scores @ draw_seed_weights(5, 200_000, np.random.default_rng(2))
    assert means.mean() == pytest.approx(scores.mean(), abs=0.01)
    assert means.var() == pytest.approx(scores.var(ddof=1) / 5, rel=0.02)
    assert draw_seed_weights(1, 3, np.random.default_rng(0)).tolist() == [[1, 1, 1]]
