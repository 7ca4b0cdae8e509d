"""SCD: Self-Contrastive Decorrelation (Klein & Nabi, 2022)."""

from __future__ import annotations

from typing import ClassVar, Literal, Self

from pydantic import Field, model_validator
from torch import Tensor

from embedsearch.encoder.heads import projector
from embedsearch.encoder.model import Encoder
from embedsearch.losses.contrastive import self_contrast
from embedsearch.losses.decorrelation import (
    cross_correlation,
    cross_correlation_printed,
    invariance,
    redundancy,
)
from embedsearch.methods.base import Batch, Method, MethodConfig, Rate, Views


class SCDConfig(MethodConfig):
    """Eq. 1: ``L_S + α·L_C``; defaults are the paper's for BERT (section 3.1)."""

    alpha: float = Field(0.005, ge=0)
    """Weight of the decorrelation L_C."""
    lambda_: float = Field(0.013, ge=0)
    """Weight of the off-diagonal sum inside L_C."""
    r_a: Rate = 0.05
    """Dropout of view A, attention and hidden alike."""
    r_b: Rate = 0.15
    """Dropout of view B."""
    temperature: float = Field(1.0, gt=0)
    """Divides L_S: 1 in the paper, 0.05 in the authors' command."""
    form: Literal["standard", "printed"] = "standard"
    """``printed`` takes Eq. 3 and 4 to the letter, ``standard`` what their text and code mean."""
    projector_dim: int = Field(4096, ge=2)
    projector_layers: int = Field(3, ge=1)
    batch_size: int = Field(192, ge=2)

    @model_validator(mode="after")
    def _views_must_differ(self) -> Self:
        if self.r_a == 0 and self.r_b == 0:
            raise ValueError("r_a and r_b are both 0, so the two views would be the same")
        return self


class SCD(Method):
    """Two views under dropout rates r_A and r_B, pushed apart as they are, decorrelated projected.

    Terms: ``self_contrast`` is L_S (Eq. 2), a mean over the batch, divided by the temperature;
    ``invariance`` and ``redundancy`` are α times the two sums of L_C (Eq. 4), over features. So no
    term grows with the batch. In the ``printed`` form the invariance has the printed minus.
    """

    Config: ClassVar[type[MethodConfig]] = SCDConfig

    def __init__(self, config: SCDConfig, encoder: Encoder) -> None:
        super().__init__(config, encoder)
        self.config = config
        self.projector = projector(encoder.dim, config.projector_dim, config.projector_layers)

    def views(self, encoder: Encoder, batch: Batch) -> Views:
        """h^A and h^B, each (batch, dim): one pass for each rate."""
        rates = (self.config.r_a, self.config.r_b)
        return tuple(encoder.encode(batch, dropout=rate) for rate in rates)

    def terms(self, views: Views, batch: Batch) -> dict[str, Tensor]:
        """``self_contrast``, ``invariance`` and ``redundancy``, weighted."""
        config = self.config
        printed = config.form == "printed"
        correlate = cross_correlation_printed if printed else cross_correlation
        first, second = (self.projector(view) for view in views)
        correlation = correlate(first, second)
        sign = -1 if printed else 1
        return {
            "self_contrast": self_contrast(*views) / config.temperature,
            "invariance": sign * config.alpha * invariance(correlation),
            "redundancy": config.alpha * config.lambda_ * redundancy(correlation),
        }
