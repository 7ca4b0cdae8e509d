"""How good rankings are: recall, mean reciprocal rank, and discounted cumulative gain."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

DEPTH = 100
"""Documents of a ranking that any measure looks at."""

_CELLS = 1 << 24
"""Scores in memory at once."""

Floats = NDArray[np.floating]


def ranked_gains(
    score: Callable[[slice], Floats], documents: int, gains: Sequence[Mapping[int, int]]
) -> NDArray[np.int64]:
    """Gains of the ``DEPTH`` best documents of each query, best first: (queries, DEPTH).

    ``score`` gives the scores (some queries, documents) of a slice of the queries. Of equal ones
    the earlier document stands first; a score of minus infinity is not found at all.
    """
    found = np.zeros((len(gains), DEPTH), dtype=np.int64)
    together = max(1, _CELLS // max(1, documents))
    for start in range(0, len(gains), together):
        part = slice(start, start + together)
        for row, scores in enumerate(score(part), start=start):
            best = [gains[row].get(int(document), 0) for document in _best(scores)]
            found[row, : len(best)] = best
    return found


def _best(scores: Floats) -> NDArray[np.int64]:
    """Rows of the highest ``scores`` (documents,), in their order."""
    rows = np.arange(len(scores))
    if len(scores) > DEPTH:
        rows = np.flatnonzero(scores >= np.partition(scores, -DEPTH)[-DEPTH])
    rows = rows[np.isfinite(scores[rows])]
    return rows[np.argsort(-scores[rows], kind="stable")][:DEPTH]


def measures(found: NDArray[np.int64], gains: Sequence[Mapping[int, int]]) -> dict[str, float]:
    """Means over the queries, times 100, of rankings ``found`` by ``ranked_gains``.

    ``ndcg@10``: gains as they are, discounted by log2(rank + 1), over those of the best ranking
    there is. ``mrr@10``: one over the rank of the first relevant document, 0 below rank 10.
    ``recall@k``: the share of a query's relevant documents among the first k.
    """
    ideal = np.zeros_like(found)
    for row, known in enumerate(gains):
        best = sorted(known.values(), reverse=True)[:DEPTH]
        ideal[row, : len(best)] = best
    discounts = 1 / np.log2(np.arange(2, 12))
    relevant = found > 0
    first = relevant[:, :10].argmax(1) + 1
    counts = np.array([len(known) for known in gains])
    each = {
        "ndcg@10": (found[:, :10] @ discounts) / (ideal[:, :10] @ discounts),
        "mrr@10": relevant[:, :10].any(1) / first,
        "recall@10": relevant[:, :10].sum(1) / counts,
        "recall@100": relevant.sum(1) / counts,
    }
    return {name: 100 * float(values.mean()) for name, values in each.items()}
