"""K-means: known clusters, the same on any number of threads, and what has none."""

from __future__ import annotations

import warnings
from itertools import pairwise

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from embedsearch.evaluation.kmeans import distinct, flaw, kmeans


def blobs(clusters: int, each: int, dim: int = 5, spread: float = 0.1) -> np.ndarray:
    random = np.random.default_rng(0)
    middles = random.normal(size=(clusters, 1, dim)) * 5
    points = middles + random.normal(size=(clusters, each, dim)) * spread
    return points.reshape(-1, dim).astype(np.float32)


def test_finds_what_lies_apart() -> None:
    for found in kmeans(blobs(4, 20), 4, range(3)):
        rows = found.reshape(4, 20)
        assert (rows == rows[:, :1]).all() and len(set(rows[:, 0])) == 4


def test_a_seed_gives_the_same_alone_or_among_others_on_any_number_of_threads() -> None:
    points = blobs(30, 40, spread=4)  # so mixed that rounding would show
    together = kmeans(points, 8, range(3))
    with threadpool_limits(1):
        assert np.array_equal(kmeans(points, 8, [1])[0], together[1])
    assert any(not np.array_equal(one, other) for one, other in pairwise(together))


def test_threads_are_as_before() -> None:
    def now() -> list[tuple[str, int]]:
        return [(library["filepath"], library["num_threads"]) for library in threadpool_info()]

    kmeans(blobs(2, 5), 2, range(2))
    with threadpool_limits(2):
        before = now()
        kmeans(blobs(2, 5), 2, range(2))
        assert now() == before


def test_no_more_clusters_than_embeddings_differ() -> None:
    points = np.repeat(np.eye(3, dtype=np.float32), 4, axis=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        [found] = kmeans(points, 7, [0])
    assert distinct(points) == 3 == len(set(found))


def test_all_but_coinciding_embeddings_warn_of_nothing() -> None:
    points = np.repeat(np.eye(3, dtype=np.float32), 4, axis=0)
    points[:, 0] += np.arange(12, dtype=np.float32) * 1e-9
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(kmeans(points, 7, [0])[0]) == 12


@pytest.mark.parametrize(
    ("embeddings", "reason"),
    [
        (np.array([[1, np.nan], [0, 1], [np.inf, 0]]), "2 of 3 embeddings are not finite"),
        (np.ones((3, 2)), "all embeddings are the same"),
        (np.zeros((3, 2)), "all embeddings are the same"),
        (1 + np.array([[0], [1e-7], [2e-7]]), "all embeddings are the same"),
        (np.ones((1, 2)), "all embeddings are the same"),
        (np.eye(2), ""),
    ],
)
def test_what_has_no_clusters(embeddings: np.ndarray, reason: str) -> None:
    assert flaw(embeddings.astype(np.float32)) == reason
