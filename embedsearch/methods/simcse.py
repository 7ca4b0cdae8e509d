"""Unsupervised SimCSE (Gao et al., 2021)."""

from __future__ import annotations

from typing import ClassVar, cast

from torch import Tensor

from embedsearch.encoder.backbone import BackboneFacts
from embedsearch.encoder.heads import HeadKind, head
from embedsearch.encoder.model import Encoder
from embedsearch.losses.contrastive import info_nce
from embedsearch.methods.base import Batch, Method, MethodConfig, Views
from embedsearch.methods.two_views import TwoViewsConfig


class SimCSEConfig(TwoViewsConfig):
    """Defaults are those of the authors' command for BERT-base."""

    head: HeadKind = "mlp"
    """On the embedding, in training only."""


class SimCSE(Method):
    """A sentence under two dropout masks is its own positive; the batch's others are negatives.

    With ``augment`` the second view is of the augmented sentence ("SimCSE w/ WDel" and so on in
    VaSCL's section 4.4). One term, ``contrast``: InfoNCE of cosine similarities (Eq. 1), a mean
    over the batch.
    """

    Config: ClassVar[type[MethodConfig]] = SimCSEConfig

    def __init__(self, config: SimCSEConfig, encoder: Encoder) -> None:
        super().__init__(config, encoder)
        self.config = config
        self.head = head(config.head, encoder.dim)

    @classmethod
    def check(cls, config: MethodConfig, backbone: BackboneFacts) -> None:
        """Raises ``UserError`` where nothing would make the two views differ."""
        super().check(config, backbone)
        cast(SimCSEConfig, config).check_views(backbone)

    def views(self, encoder: Encoder, batch: Batch) -> Views:
        """Two encodings of the batch, each (batch, dim)."""
        return self.config.two_views(encoder, batch)

    def terms(self, views: Views, batch: Batch) -> dict[str, Tensor]:
        """``contrast``."""
        first, second = (self.head(view) for view in views)
        return {"contrast": info_nce(first, second, self.config.temperature)}
