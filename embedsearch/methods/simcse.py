"""Unsupervised SimCSE (Gao et al., 2021)."""

from __future__ import annotations

from typing import ClassVar, cast

from torch import Tensor

from embedsearch.encoder.backbone import BackboneFacts
from embedsearch.encoder.model import Encoder
from embedsearch.losses.contrastive import info_nce
from embedsearch.methods.base import Batch, Method, MethodConfig, Views
from embedsearch.methods.two_views import TwoViewsConfig, check_dropout, head_of, two_views


class SimCSEConfig(TwoViewsConfig):
    """Defaults are those of the authors' command for BERT-base."""


class SimCSE(Method):
    """A sentence under two dropout masks is its own positive; the batch's others are negatives.

    One term, ``contrast``: InfoNCE of cosine similarities (Eq. 1), a mean over the batch.
    """

    Config: ClassVar[type[MethodConfig]] = SimCSEConfig

    def __init__(self, config: SimCSEConfig, encoder: Encoder) -> None:
        super().__init__(config, encoder)
        self.config = config
        self.head = head_of(config, encoder)

    @classmethod
    def check(cls, config: MethodConfig, backbone: BackboneFacts) -> None:
        """Raises ``UserError`` where no dropout would make the two views differ."""
        super().check(config, backbone)
        check_dropout(cast(SimCSEConfig, config).dropout, backbone)

    def views(self, encoder: Encoder, batch: Batch) -> Views:
        """Two encodings of the batch under masks of their own, each (batch, dim), in one pass."""
        return two_views(encoder, batch, self.config.dropout)

    def terms(self, views: Views, batch: Batch) -> dict[str, Tensor]:
        """``contrast``."""
        first, second = (self.head(view) for view in views)
        return {"contrast": info_nce(first, second, self.config.temperature)}
