"""Spearman's correlation over resampled pairs, and means over resampled seeds."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def draw_counts(pairs: int, resamples: int, random: np.random.Generator) -> Floats:
    """(pairs, resamples): how often each resample, of as many pairs drawn with replacement, has
    each pair."""
    drawn = random.integers(pairs, size=(pairs, resamples))
    cells = drawn * resamples + np.arange(resamples)
    counts = np.bincount(cells.ravel(), minlength=pairs * resamples)
    return counts.reshape(pairs, resamples).astype(np.float64)


def draw_seed_weights(seeds: int, resamples: int, random: np.random.Generator) -> Floats:
    """(seeds, resamples): the weights of a mean over resampled seeds.

    One fewer is drawn than there are, with replacement: a mean over all n of them would vary by
    (n - 1) / n of what the mean of n seeds does (Rao & Wu, 1988, for small strata). One alone is
    taken as it is.
    """
    if seeds == 1:
        return np.ones((1, resamples))
    drawn = random.multinomial(seeds - 1, np.full(seeds, 1 / seeds), size=resamples)
    return drawn.T / (seeds - 1)


def resampled_spearman(first: Floats, second: Floats, counts: Floats) -> Floats:
    """(resamples,): Spearman x100 between two rows of numbers (pairs,) over each of the resamples.

    Exactly what ranking each resample anew would give, ties at their mean rank; NaN where all of
    a resample's numbers are the same.
    """
    return spearman_of_ranks(centred_ranks(first, counts), centred_ranks(second, counts), counts)


def spearman_of_ranks(first: Floats, second: Floats, counts: Floats) -> Floats:
    """As ``resampled_spearman``, of ``centred_ranks``."""
    together, own, others = (
        np.einsum("pr,pr,pr->r", counts, a, b)
        for a, b in ((first, second), (first, first), (second, second))
    )
    with np.errstate(invalid="ignore"):
        found: Floats = 100 * together / np.sqrt(own * others)
        return found


def centred_ranks(values: Floats, counts: Floats) -> Floats:
    """(pairs, resamples): the rank of each value within each resample, less their mean.

    Values are sorted once: within a resample, a value comes after all copies of smaller ones and
    lies in the middle of the copies of its equals.
    """
    _, group = np.unique(values, return_inverse=True)
    order = np.argsort(group, kind="stable")
    sizes = np.add.reduceat(counts[order], np.flatnonzero(np.diff(group[order], prepend=-1)))
    ranks: Floats = (np.cumsum(sizes, axis=0) - sizes / 2 - len(values) / 2)[group]
    return ranks
