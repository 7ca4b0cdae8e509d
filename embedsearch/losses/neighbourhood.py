"""An instance told from its neighbours, and the perturbation that makes that hardest (VaSCL)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from torch.nn import functional as F


def nearest(embeddings: Tensor, k: int) -> Tensor:
    """Rows of the ``k`` nearest others of each row of (batch, dim), by inner product: (batch, k).

    VaSCL, section 3.2, without itself. The paper leaves the similarity open; the authors' code
    takes the inner product. ``k`` must be smaller than the batch.
    """
    with torch.autocast(embeddings.device.type, enabled=False):
        similarity = embeddings.detach().float() @ embeddings.detach().float().T
        return similarity.fill_diagonal_(-torch.inf).topk(k, dim=1).indices


def neighbourhood_loss(
    anchor: Tensor,
    positive: Tensor,
    others: Sequence[Tensor],
    neighbours: Tensor,
    temperature: float,
) -> Tensor:
    """How badly each anchor is told from its neighbours: (batch,), at least 0.

    ``−log( e^{cos(a_i,p_i)/τ} / (e^{cos(a_i,p_i)/τ} + Σ_o Σ_{k∈N(i)} e^{cos(a_i,o_k)/τ}) )``.
    VaSCL, Eq. 2, with ``others`` the one set z; its augmented neighbourhood (Eq. 5) has two, z and
    z*. All are (batch, dim); ``neighbours`` (batch, k) are rows of each of ``others``.
    """
    with torch.autocast(anchor.device.type, enabled=False):
        a, p = _directions(anchor), _directions(positive)
        against = [(a @ _directions(other).T).gather(1, neighbours) for other in others]
        logits = torch.cat([(a * p).sum(1, keepdim=True), *against], dim=1) / temperature
        return torch.logsumexp(logits, dim=1) - logits[:, 0]


def hardest_perturbation(loss: Callable[[Tensor], Tensor], start: Tensor, radius: float) -> Tensor:
    """δ* of norm ``radius``: one step of ascent of ``loss`` (batch,) from ``start`` (batch, dim).

    VaSCL, Eq. 3, whose maximum the authors' code takes to be ``Δ·g/‖g‖`` for the gradient g at the
    start. Leaves no gradient behind, in ``start`` or anywhere else.
    """
    with torch.enable_grad():
        start = start.detach().requires_grad_()
        (gradient,) = torch.autograd.grad(loss(start).sum(), start)
    return radius * _directions(gradient)


def _directions(vectors: Tensor) -> Tensor:
    return F.normalize(vectors.float(), dim=1)
