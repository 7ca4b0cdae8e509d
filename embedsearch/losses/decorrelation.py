"""Feature decorrelation between two projected views."""

from __future__ import annotations

import torch
from torch import Tensor


def cross_correlation(first: Tensor, second: Tensor, eps: float = 1e-5) -> Tensor:
    """Cross-correlation of features over the batch: (features, features), entries in [−1, 1].

    ``C_jk = (1/N) Σ_i â_ij b̂_ik`` where each column of the (batch, features) views is shifted and
    scaled to mean 0 and variance 1 over the batch (Barlow Twins, Zbontar et al. 2021, Eq. 2). SCD's
    public code has this form. Dividing by N keeps the scale when the batch grows.
    """
    with torch.autocast(first.device.type, enabled=False):
        a, b = _standardise(first.float(), eps), _standardise(second.float(), eps)
        return a.T @ b / len(a)


def cross_correlation_printed(first: Tensor, second: Tensor, eps: float = 1e-12) -> Tensor:
    """SCD's Eq. 3 to the letter: (features, features).

    ``C_jk = Σ_i a_ij b_ik / √(Σ_i a_ij² b_ik²)``: one sum of products of squares, where the
    standard form has two separate norms. By Cauchy–Schwarz |C_jk| ≤ √N, not 1.
    """
    with torch.autocast(first.device.type, enabled=False):
        a, b = first.float(), second.float()
        return a.T @ b / ((a * a).T @ (b * b)).clamp(min=eps).sqrt()


def invariance(correlation: Tensor) -> Tensor:
    """``Σ_j (1 − C_jj)²``, a sum over features: a scalar (SCD, Eq. 4, first sum).

    The equation prints a minus before it, yet the text says that the term maximises the diagonal,
    which +Σ does when minimised; the public code has +.
    """
    return (1 - correlation.diagonal()).pow(2).sum()


def redundancy(correlation: Tensor) -> Tensor:
    """``Σ_j Σ_{k≠j} C_jk²``, a sum over pairs of features: a scalar (SCD, Eq. 4, second sum)."""
    return correlation.pow(2).sum() - correlation.diagonal().pow(2).sum()


def _standardise(x: Tensor, eps: float) -> Tensor:
    variance, mean = torch.var_mean(x, dim=0, correction=0)
    return (x - mean) / (variance + eps).sqrt()
