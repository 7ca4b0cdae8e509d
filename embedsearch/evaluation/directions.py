"""Embeddings as directions: of length one, so that a product is a cosine."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

NOT_FINITE = "the embeddings hold NaN or infinity"

RESOLUTION = 1e-6
"""Cosines of float32 vectors that lie closer than this are the same but for rounding."""


def directions(vectors: NDArray[np.float32]) -> tuple[NDArray[np.float32], int]:
    """``vectors`` (texts, dim) scaled to length one, and how many are zero, which stay zero."""
    wide = vectors.astype(np.float64)
    norms = np.linalg.norm(wide, axis=1, keepdims=True)
    zero = norms == 0
    with np.errstate(invalid="ignore"):  # infinity gives NaN, which the caller looks for
        return (wide / np.where(zero, 1.0, norms)).astype(np.float32), int(zero.sum())


def distances(left: NDArray[np.float32], right: NDArray[np.float32]) -> NDArray[np.float64]:
    """1 - cosine of each row of ``left`` and that of ``right``, both directions: (texts,).

    What is zero but for rounding is zero; a zero vector is at distance 1 from everything.
    """
    apart = 1 - np.einsum("ij,ij->i", left, right, dtype=np.float64)
    return np.where(np.abs(apart) < RESOLUTION, 0.0, apart)
