"""Unsupervised SimCSE (Gao et al., 2021)."""

from __future__ import annotations

from typing import ClassVar, Literal, Self

import torch
from pydantic import Field, model_validator
from torch import Tensor, nn

from embedsearch.encoder.backbone import BackboneFacts
from embedsearch.encoder.heads import mlp
from embedsearch.encoder.model import Encoder
from embedsearch.errors import UserError
from embedsearch.losses.contrastive import info_nce
from embedsearch.methods.augmented import AugmentedConfig, augmented
from embedsearch.methods.base import Batch, Method, MethodConfig, Views


class SimCSEConfig(AugmentedConfig):
    """Defaults are those of the authors' command for BERT-base."""

    temperature: float = Field(0.05, gt=0)
    dropout: float | None = Field(None, ge=0, lt=1)
    """Of both views; none is the backbone's own rate. Zero only with an augmentation."""
    head: Literal["mlp", "none"] = "mlp"
    """On the embedding, in training only."""

    @model_validator(mode="after")
    def _views_must_differ(self) -> Self:
        if self.dropout == 0 and self.augment == "none":
            raise ValueError("dropout is zero, so the two views would be the same")
        return self


class SimCSE(Method):
    """A sentence under two dropout masks is its own positive; the batch's others are negatives.

    With ``augment`` the second view is of the augmented sentence ("SimCSE w/ WDel" and so on in
    VaSCL's section 4.4, which found augmenting both to be worse).

    One term, ``contrast``: InfoNCE of cosine similarities (Eq. 1), a mean over the batch.
    """

    Config: ClassVar[type[MethodConfig]] = SimCSEConfig

    def __init__(self, config: SimCSEConfig, encoder: Encoder) -> None:
        super().__init__(config, encoder)
        self.config = config
        self.head = mlp(encoder.dim) if config.head == "mlp" else nn.Identity()

    @classmethod
    def check(cls, config: MethodConfig, backbone: BackboneFacts) -> None:
        """Raises ``UserError`` where nothing would make the two views differ."""
        super().check(config, backbone)
        assert isinstance(config, SimCSEConfig)
        if config.dropout is None and backbone.dropout == 0 and config.augment == "none":
            raise UserError(
                f"the dropout of {backbone.location} is zero, so SimCSE's two views would be "
                "the same: give a rate, for example dropout=0.1"
            )

    def views(self, encoder: Encoder, batch: Batch) -> Views:
        """Two encodings of the batch under masks of their own, each (batch, dim).

        In one pass, or, with an augmentation, the sentences' first and then the augmented ones'.
        """
        if self.config.augment != "none":
            both = (batch, augmented(batch))
            return tuple(encoder.encode(texts, dropout=self.config.dropout) for texts in both)
        twice = {name: torch.cat([value, value]) for name, value in batch.items()}
        return tuple(encoder.encode(twice, dropout=self.config.dropout).chunk(2))

    def terms(self, views: Views, batch: Batch) -> dict[str, Tensor]:
        """``contrast``."""
        first, second = (self.head(view) for view in views)
        return {"contrast": info_nce(first, second, self.config.temperature)}
