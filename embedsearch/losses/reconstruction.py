"""How far one view of a sentence is from being recovered by the other (InforMin-CL)."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F


def reconstruction(first: Tensor, second: Tensor) -> Tensor:
    """Squared distance of the unit vectors of two (batch, dim) views, twice its mean over batch and
    features, ``(2/d)·mean_i ‖ẑ_i¹ − ẑ_i²‖²``: a scalar.

    The reduction decides what λ means. The paper (Eq. 8, Algorithm 1) prints raw vectors and the
    squared norm; its authors' code normalises them and adds two mean squared errors, which is this,
    and the published λ were found with it. At d = 768 the printed sum is 384 times as strong.
    """
    with torch.autocast(first.device.type, enabled=False):
        a = F.normalize(first.float(), dim=1)
        b = F.normalize(second.float(), dim=1)
        return 2 * F.mse_loss(a, b)


def reconstruction_printed(first: Tensor, second: Tensor) -> Tensor:
    """``mean_i ‖z_i¹ − z_i²‖²`` of two (batch, dim) views: a scalar.

    InforMin-CL, Eq. 8, whose minus sign and the maximum before L_C make it a term to be minimised.
    """
    with torch.autocast(first.device.type, enabled=False):
        return (first.float() - second.float()).square().sum(1).mean()
