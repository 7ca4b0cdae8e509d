"""Two encoders pulled apart but for the same sentence (Contrastive Tension)."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F


def tension(first: Tensor, second: Tensor, negatives: int) -> Tensor:
    """Binary cross-entropy of dot products: row i of both is alike, and row i of ``first`` with the
    ``negatives`` rows after i of ``second``, around the end, is not; mean over all pairs: a scalar.

    ``−log σ(f₁(s)·f₂(s))`` and ``−log σ(−f₁(s)·f₂(s'))`` (Carlsson et al. 2021, Eq. 1, 2) over
    (batch, dim) vectors. The paper draws K = 7 negatives for each positive; a batch is a random
    draw already, so its next rows serve, and each sentence is encoded twice and not 16 times.
    """
    with torch.autocast(first.device.type, enabled=False):
        a, b = first.float(), second.float()
        alike = (a * b).sum(1)
        unlike = [(a * b.roll(-shift, 0)).sum(1) for shift in range(1, negatives + 1)]
        logits = torch.stack([alike, *(-pair for pair in unlike)])
        return -F.logsigmoid(logits).mean()
