"""CT: Contrastive Tension (Carlsson et al., 2021)."""

from __future__ import annotations

import copy
from typing import ClassVar, Literal, cast

from pydantic import Field
from torch import Tensor

from embedsearch.encoder.backbone import BackboneFacts
from embedsearch.encoder.model import Encoder
from embedsearch.errors import UserError
from embedsearch.losses.contrastive import symmetric_info_nce
from embedsearch.losses.tension import tension
from embedsearch.methods.base import Batch, Method, MethodConfig, Pooling, Views


class CTConfig(MethodConfig):
    """Defaults are the paper's where this optimiser has them: it takes RMSProp, and 50,000 steps at
    a rate that falls from 1e-5 to 2e-6."""

    negatives: int = Field(7, ge=1)
    """K, to each positive pair; fewer than the batch. With ``in_batch`` all of it."""
    objective: Literal["pairs", "in_batch"] = "pairs"
    """The paper's, or sentence-transformers' variant with in-batch negatives."""
    temperature: float = Field(0.05, gt=0)
    """Of ``in_batch`` alone."""
    batch_size: int = Field(16, ge=2)
    learning_rate: float = Field(1e-5, gt=0)
    pooling: Pooling = "mean"


class CT(Method):
    """Two encoders that start alike and share nothing: their dot product is to be high for the same
    sentence and low for any other. The second is kept (the paper evaluates it), the first is the
    method's own and goes with training.

    One term, ``tension``.
    """

    Config: ClassVar[type[MethodConfig]] = CTConfig

    def __init__(self, config: CTConfig, encoder: Encoder) -> None:
        super().__init__(config, encoder)
        self.config = config
        self.first = copy.deepcopy(encoder)

    @classmethod
    def check(cls, config: MethodConfig, backbone: BackboneFacts) -> None:
        """Raises ``UserError`` where a batch has too few negatives."""
        super().check(config, backbone)
        config = cast(CTConfig, config)
        if config.objective == "pairs" and config.negatives >= config.batch_size:
            raise UserError(
                f"negatives={config.negatives} can't be found among the {config.batch_size - 1} "
                f"others of a batch: give fewer than batch_size={config.batch_size}"
            )

    def views(self, encoder: Encoder, batch: Batch) -> Views:
        """f₁ and f₂ of the batch, each (batch, dim), under the backbone's own dropout."""
        return self.first.encode(batch), encoder.encode(batch)

    def terms(self, views: Views, batch: Batch) -> dict[str, Tensor]:
        """``tension``."""
        config, (first, second) = self.config, views
        if config.objective == "pairs":
            return {"tension": tension(first, second, config.negatives)}
        return {"tension": symmetric_info_nce(first, second, config.temperature)}
