"""Random crops as the two views of a contrast (Gonzalez-Marquez et al., 2025)."""

from __future__ import annotations

from typing import ClassVar, Self

import torch
from pydantic import Field, model_validator
from torch import Tensor

from embedsearch.data.token_noise import crop_tokens
from embedsearch.encoder.model import Encoder
from embedsearch.losses.contrastive import info_nce
from embedsearch.methods.base import Batch, Method, MethodConfig, Pooling, Views


class CropConfig(MethodConfig):
    """InfoNCE as SimCSE's, on crops. The lengths are ours: a sentence has some twenty words."""

    temperature: float = Field(0.05, gt=0)
    shortest: float = Field(0.3, gt=0, le=1)
    """Share of a sentence's tokens that a crop has at least."""
    longest: float = Field(0.7, gt=0, le=1)
    """And at most."""
    dropout: float | None = Field(None, ge=0, lt=1)
    """Of both views; none is the backbone's own rate."""
    pooling: Pooling = "mean"

    @model_validator(mode="after")
    def _lengths_must_be_in_order(self) -> Self:
        if self.shortest > self.longest:
            raise ValueError(f"shortest {self.shortest:g} is above longest {self.longest:g}")
        return self


class Crop(Method):
    """Two random runs of a sentence's words are each other's positive; the batch's are negatives.

    One term, ``contrast``: InfoNCE over the batch, as SimCSE's. Dropout goes on beside it.
    """

    Config: ClassVar[type[MethodConfig]] = CropConfig

    def __init__(self, config: CropConfig, encoder: Encoder) -> None:
        super().__init__(config, encoder)
        self.config = config

    def views(self, encoder: Encoder, batch: Batch) -> Views:
        """Encodings of two crops of each sentence, each (batch, dim)."""
        config = self.config
        special = torch.tensor(encoder.tokenizer.all_special_ids, device=encoder.device)
        crops = [crop_tokens(batch, config.shortest, config.longest, special) for _ in range(2)]
        return tuple(encoder.encode(crop, dropout=config.dropout) for crop in crops)

    def terms(self, views: Views, batch: Batch) -> dict[str, Tensor]:
        """``contrast``."""
        first, second = views
        return {"contrast": info_nce(first, second, self.config.temperature)}
