"""What methods share that encode a batch twice: under dropout, or once of it augmented."""

from __future__ import annotations

from typing import Self

import torch
from pydantic import Field, model_validator
from torch import Tensor

from embedsearch.encoder.backbone import BackboneFacts
from embedsearch.encoder.model import Encoder
from embedsearch.errors import UserError
from embedsearch.methods.augmented import AugmentedConfig, augmented
from embedsearch.methods.base import Batch


class TwoViewsConfig(AugmentedConfig):
    """Of a contrast between two views of a sentence."""

    temperature: float = Field(0.05, gt=0)
    dropout: float | None = Field(None, ge=0, lt=1)
    """Of both views; none is the backbone's own rate. Zero only with an augmentation."""

    @model_validator(mode="after")
    def _views_must_differ(self) -> Self:
        if self.dropout == 0 and self.augment == "none":
            raise ValueError("dropout is zero, so the two views would be the same")
        return self

    def check_views(self, backbone: BackboneFacts) -> None:
        """Raises ``UserError`` where nothing would make the two views differ."""
        if self.dropout is None and backbone.dropout == 0 and self.augment == "none":
            raise UserError(
                f"the dropout of {backbone.location} is zero, so the two views would be the same: "
                "give a rate, for example dropout=0.1"
            )

    def two_views(self, encoder: Encoder, batch: Batch) -> tuple[Tensor, Tensor]:
        """Two encodings of the batch under masks of their own, each (batch, dim).

        In one pass, or, with an augmentation, the sentences' first and then the augmented ones'
        (VaSCL, section 4.4, found augmenting both to be worse).
        """
        if self.augment != "none":
            second = encoder.encode(augmented(batch), dropout=self.dropout)
            return encoder.encode(batch, dropout=self.dropout), second
        twice = {name: torch.cat([value, value]) for name, value in batch.items()}
        first, second = encoder.encode(twice, dropout=self.dropout).chunk(2)
        return first, second
