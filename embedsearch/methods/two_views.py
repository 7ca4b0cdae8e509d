"""What methods share that encode a batch twice under dropout."""

from __future__ import annotations

from typing import Literal

import torch
from pydantic import Field
from torch import Tensor, nn

from embedsearch.encoder.backbone import BackboneFacts
from embedsearch.encoder.heads import mlp
from embedsearch.encoder.model import Encoder
from embedsearch.errors import UserError
from embedsearch.methods.base import Batch, MethodConfig


class TwoViewsConfig(MethodConfig):
    """Of a contrast between two dropout views."""

    temperature: float = Field(0.05, gt=0)
    dropout: float | None = Field(None, gt=0, lt=1)
    """Of both views; none is the backbone's own rate."""
    head: Literal["mlp", "none"] = "mlp"
    """On the embedding, in training only."""


def check_dropout(dropout: float | None, backbone: BackboneFacts) -> None:
    """Raises ``UserError`` where no dropout would make the two views differ."""
    if dropout is None and backbone.dropout == 0:
        raise UserError(
            f"the dropout of {backbone.location} is zero, so the two views would be the same: "
            "give a rate, for example dropout=0.1"
        )


def two_views(encoder: Encoder, batch: Batch, dropout: float | None) -> tuple[Tensor, Tensor]:
    """Two encodings of the batch under masks of their own, each (batch, dim), in one pass."""
    twice = {name: torch.cat([value, value]) for name, value in batch.items()}
    first, second = encoder.encode(twice, dropout=dropout).chunk(2)
    return first, second


def head_of(config: TwoViewsConfig, encoder: Encoder) -> nn.Module:
    """The head that ``config`` asks for, (batch, dim) in and out."""
    return mlp(encoder.dim) if config.head == "mlp" else nn.Identity()
