"""A projection behind the pooling that is part of the embedding, in training and at test."""

from __future__ import annotations

from typing import Literal, Self

import torch
from torch import Tensor, nn

Activation = Literal["tanh", "identity"]


class Projection(nn.Module):
    """A linear map with bias and an activation: (batch, dim) in, (batch, width) out.

    ``tanh`` makes GUR's non-linear projector, ``identity`` an affine map such as
    whitening. Its weights are named as those of sentence-transformers' ``Dense``.
    """

    def __init__(self, dim: int, width: int, activation: Activation = "tanh") -> None:
        super().__init__()
        self.linear = nn.Linear(dim, width)
        self.activation = activation

    @classmethod
    def affine(cls, weight: Tensor, bias: Tensor) -> Self:
        """The map x ↦ ``weight`` x + ``bias``, shapes (width, dim) and (width,)."""
        made = cls(weight.shape[1], weight.shape[0], "identity")
        made.load_state_dict({"linear.weight": weight, "linear.bias": bias})
        return made

    @property
    def width(self) -> int:
        return self.linear.out_features

    def forward(self, pooled: Tensor) -> Tensor:
        out: Tensor = self.linear(pooled)
        return torch.tanh(out) if self.activation == "tanh" else out
