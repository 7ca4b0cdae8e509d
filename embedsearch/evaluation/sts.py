"""Semantic textual similarity: does the cosine rank sentence pairs as people do?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from embedsearch.data.counted import counted
from embedsearch.data.pairs import ScoredPairs

PROTOCOL = "sts: spearman of cosine, pooled"
"""Named beside every number: one correlation over all pairs, not a mean over parts of them."""

Embed = Callable[[Sequence[str]], Tensor | NDArray[np.float32]]
"""Texts to vectors, (texts, dim)."""

_DIGITS = 6
_RESOLUTION = 10.0**-_DIGITS
"""Cosines of float32 vectors that lie closer than this are the same but for rounding."""


@dataclass(frozen=True)
class PairScore:
    """How well similarities agree with gold scores; both correlations are None for a ``reason``."""

    spearman: float | None
    """Times 100; ties share their mean rank."""
    pearson: float | None
    """Times 100."""
    pairs: int
    """How many were scored."""
    zero_vectors: int = 0
    """Distinct sentences whose embedding is all zeros; their similarity to anything is 0."""
    reason: str = ""
    """Why there is no score; empty where there is one."""
    protocol: str = PROTOCOL


def score_pairs(embed: Embed, pairs: ScoredPairs) -> PairScore:
    """Correlation of the cosines of ``embed``'s vectors with the gold scores of ``pairs``.

    ``embed`` gives (n, dim) for n sentences, and is called once, with each distinct sentence.
    """
    from scipy import stats  # takes its time, and only scoring needs it

    similarities, zeros = _cosines(embed, pairs)
    reason = _unscorable(similarities, pairs.gold)
    if reason:
        return PairScore(None, None, len(pairs), zeros, reason)
    spearman = 100 * float(stats.spearmanr(similarities, pairs.gold).statistic)
    pearson = 100 * float(stats.pearsonr(similarities, pairs.gold).statistic)
    return PairScore(spearman, pearson, len(pairs), zeros)


def cosines(embed: Embed, pairs: ScoredPairs) -> tuple[float, ...]:
    """What ``score_pairs`` correlates with the gold scores: the cosine of each pair, in their
    order, to the digit up to which they are more than rounding."""
    return tuple(_cosines(embed, pairs)[0].round(_DIGITS).tolist())


def _cosines(embed: Embed, pairs: ScoredPairs) -> tuple[NDArray[np.float64], int]:
    """(pairs,), and how many distinct sentences have an embedding of zeros."""
    rows = {sentence: row for row, sentence in enumerate(dict.fromkeys(pairs.first + pairs.second))}
    vectors = _array(embed(list(rows)))
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    zeros = int((norms == 0).sum())
    directions = vectors / np.where(norms == 0, 1.0, norms)
    first = directions[[rows[sentence] for sentence in pairs.first]]
    second = directions[[rows[sentence] for sentence in pairs.second]]
    return np.einsum("ij,ij->i", first, second), zeros


def _array(vectors: Tensor | NDArray[np.float32]) -> NDArray[np.float64]:
    if isinstance(vectors, np.ndarray):
        return vectors.astype(np.float64)
    made: NDArray[np.float64] = vectors.detach().cpu().double().numpy()
    return made


def _unscorable(similarities: NDArray[np.float64], gold: NDArray[np.float64]) -> str:
    """Why no correlation exists; empty where one does."""
    if len(gold) < 2:
        return f"{counted(len(gold), 'pair')}: a correlation takes two at least"
    if not np.isfinite(similarities).all():
        return "the embeddings hold NaN or infinity"
    if np.ptp(gold) == 0:
        return "all gold scores are the same"
    if np.ptp(similarities) < _RESOLUTION:
        return "all similarities are the same"
    return ""
