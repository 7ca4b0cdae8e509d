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


def symmetric_info_nce(
    first: Tensor, second: Tensor, temperature: float, known: Tensor | None = None
) -> Tensor:
    """InfoNCE of both (batch, dim) views, each way, mean of the two: a scalar.

    ``(1/2N) Σ_i −log softmax_j(cos(a_i, b_j)/τ)_i − log softmax_j(cos(b_i, a_j)/τ)_i``: GUR's
    contrast over N×N (as CLIP's, with a fixed τ), and the variant of Contrastive Tension that
    sentence-transformers has (``ContrastiveTensionLossInBatchNegatives``; its scale of 20 is a τ of
    0.05, and learnt there). Where ``known`` (batch, batch) is true, rows i of ``first`` and j of
    ``second`` are known to belong together: no negative, and left out of both softmaxes; pairs
    (i, i) themselves always count.
    """
    with torch.autocast(first.device.type, enabled=False):
        logits = F.normalize(first.float(), dim=1) @ F.normalize(second.float(), dim=1).T
        logits = logits / temperature
        rows = torch.arange(len(logits), device=logits.device)
        if known is not None:
            logits = logits.masked_fill(known & (rows != rows[:, None]), -torch.inf)
        return (F.cross_entropy(logits, rows) + F.cross_entropy(logits.T, rows)) / 2


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
