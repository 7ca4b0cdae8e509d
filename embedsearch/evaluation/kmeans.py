"""K-means that gives the same clusters on any number of cores."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager

import numpy as np
from numpy.typing import NDArray

STARTS = 10
KMEANS = f"K-means (k-means++, best inertia of {STARTS} starts, at most 300 iterations)"

_RESOLUTION = 1e-6
"""Of the largest value; float32 embeddings that lie closer are the same but for rounding."""


def flaw(embeddings: NDArray[np.float32]) -> str:
    """Why (texts, dim) embeddings have no clusters worth a number; empty where they may have."""
    bad = int((~np.isfinite(embeddings).all(axis=1)).sum())
    if bad:
        return f"{bad} of {len(embeddings)} embeddings are not finite"
    spread = np.ptp(embeddings, axis=0).max()
    same = spread <= _RESOLUTION * np.abs(embeddings).max()
    return "all embeddings are the same" if same else ""


def distinct(embeddings: NDArray[np.float32]) -> int:
    """How many of the embeddings differ: there are no more clusters than that."""
    return len({row.tobytes() for row in embeddings})


def kmeans(
    embeddings: NDArray[np.float32], clusters: int, seeds: Sequence[int]
) -> list[NDArray[np.int32]]:
    """The cluster of each of the (texts, dim) embeddings, (texts,), once for every seed.

    Where fewer embeddings differ than ``clusters``, each that differs is a cluster. The seeds
    share the cores, on one thread each: scikit-learn's own threads add up in an order that
    depends on how many there are, and wait for each other on a machine that does other work too.
    """
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning

    found = min(clusters, distinct(embeddings))

    def one(seed: int) -> NDArray[np.int32]:
        labels: NDArray[np.int32] = (
            KMeans(found, n_init=STARTS, max_iter=300, random_state=seed).fit(embeddings).labels_
        )
        return labels

    workers = min(len(seeds), os.cpu_count() or 1)
    with warnings.catch_warnings(), single_threaded():
        warnings.simplefilter("ignore", ConvergenceWarning)  # of embeddings that all but coincide
        with ThreadPoolExecutor(workers, initializer=single_threaded) as pool:
            return list(pool.map(one, seeds))


def single_threaded() -> AbstractContextManager[object]:
    """From now on, or within a ``with``, the libraries' own threads are one.

    BLAS has one limit for the process, OpenMP one for each thread.
    """
    from threadpoolctl import threadpool_limits

    limits: AbstractContextManager[object] = threadpool_limits(1)
    return limits
