"""Contrasts between two views of a batch."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F


def info_nce(first: Tensor, second: Tensor, temperature: float) -> Tensor:
    """InfoNCE of each row of ``first`` among all rows of ``second``, mean over the batch: a scalar.

    ``−(1/N) Σ_i log( exp(cos(a_i, b_i)/τ) / Σ_j exp(cos(a_i, b_j)/τ) )`` for (batch, dim) views a
    and b (SimCSE, Gao et al. 2021, Eq. 1). One direction, as printed; in float32 under autocast.
    """
    with torch.autocast(first.device.type, enabled=False):
        a = F.normalize(first.float(), dim=1)
        b = F.normalize(second.float(), dim=1)
        logits = a @ b.T / temperature
        return F.cross_entropy(logits, torch.arange(len(a), device=a.device))


def self_contrast(first: Tensor, second: Tensor) -> Tensor:
    """Mean cosine similarity of row i of both (batch, dim) views: a scalar in [−1, 1].

    SCD, Eq. 2. The mean over the batch is as printed; the authors' first code summed over it,
    which at batch 192 makes its α of 1.05 the 0.0054 of the later one.
    """
    with torch.autocast(first.device.type, enabled=False):
        return F.cosine_similarity(first.float(), second.float(), dim=1).mean()


def nt_xent(first: Tensor, second: Tensor, temperature: float) -> Tensor:
    """InfoNCE of each row of both (batch, dim) views among the other 2·batch − 1, mean: a scalar.

    ``(1/2M) Σ_i ℓ(z_i, z_i') + ℓ(z_i', z_i)`` (SimCLR, Chen et al. 2020; VaSCL, Eq. 1 and the first
    half of Eq. 6): the own view's other rows are negatives, too.
    """
    with torch.autocast(first.device.type, enabled=False):
        both = F.normalize(torch.cat([first, second]).float(), dim=1)
        logits = (both @ both.T / temperature).fill_diagonal_(-torch.inf)
        positives = torch.arange(len(both), device=both.device).roll(len(first))
        return F.cross_entropy(logits, positives)
