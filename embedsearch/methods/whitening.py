"""Whitening of any encoder's embeddings (Su et al., 2021): fitted, not trained."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import ClassVar, cast

import torch
from pydantic import Field
from torch import Tensor

from embedsearch.encoder.backbone import BackboneFacts
from embedsearch.encoder.model import Encoder
from embedsearch.encoder.projection import Projection
from embedsearch.errors import UserError
from embedsearch.methods.base import Batch, Method, MethodConfig, Pooling


class WhiteningConfig(MethodConfig):
    """Defaults are the paper's where it says them; ``batch_size`` is that of the encoding alone."""

    dims: int | None = Field(None, ge=1)
    """k, how many directions are kept, those of the largest variance; none is all of them."""
    sentences: int = Field(10_000, ge=2)
    """Of the corpus, on which it is fitted; more than the embedding has dimensions."""
    pooling: Pooling = "first_last"


class Whitening(Method):
    """Moves embeddings to mean zero and turns and scales them to covariance one.

    x ↦ (x − μ)·UΛ^(−1/2) for the mean μ and the covariance UΛUᵀ of the corpus's embeddings
    (Algorithm 1), of which the first k columns are kept. It is part of the embedding then. The
    paper fits on the sentences that are scored, or on NLI; here it is the corpus, cut at
    ``max_length`` as in training.
    """

    Config: ClassVar[type[MethodConfig]] = WhiteningConfig
    fitted: ClassVar[bool] = True

    def __init__(self, config: WhiteningConfig, encoder: Encoder) -> None:
        super().__init__(config, encoder)
        self.config = config

    @classmethod
    def check(cls, config: MethodConfig, backbone: BackboneFacts) -> None:
        """Raises ``UserError`` where there are fewer sentences than dimensions to fit."""
        super().check(config, backbone)
        config = cast(WhiteningConfig, config)
        if config.sentences <= backbone.dim or (config.dims or 1) > backbone.dim:
            raise UserError(
                f"whitening {backbone.dim} dimensions wants more sentences than that, at most as "
                f"many dims: sentences={config.sentences}, dims={config.dims} can't be"
            )

    def fit(self, encoder: Encoder, batch_at: Callable[[int], Batch]) -> None:
        """Set the encoder's projection from the first ``sentences`` of the corpus's order."""
        total, squares = torch.zeros((), dtype=torch.float64), torch.zeros((), dtype=torch.float64)
        count = 0
        for step in range(math.ceil(self.config.sentences / self.config.batch_size)):
            batch = {name: value.to(encoder.device) for name, value in batch_at(step).items()}
            embeddings = encoder.encode(batch).double().cpu()
            total, squares = total + embeddings.sum(0), squares + embeddings.T @ embeddings
            count += len(embeddings)
        weight, bias = whitening(total, squares, count)
        kept = slice(self.config.dims)
        projection = Projection.affine(weight[kept].float(), bias[kept].float())
        encoder.projection = projection.to(encoder.device)


def whitening(total: Tensor, squares: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """The affine map that whitens: weight (dim, dim), largest variance first, and bias (dim,).

    From sums over ``count`` embeddings: of themselves (dim,) and of their outer products
    (dim, dim). A direction without variance is mapped to zero.
    """
    mean = total / count
    variances, directions = torch.linalg.eigh(squares / count - torch.outer(mean, mean))
    variances, directions = variances.flip(0), directions.flip(1)
    real = variances > variances[0] * 1e-10
    scale = torch.where(real, variances.clamp(min=1e-300), torch.inf).rsqrt()
    weight = scale[:, None] * directions.T
    return weight, -weight @ mean
