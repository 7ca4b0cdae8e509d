"""VaSCL: virtual augmentation supported contrastive learning (Zhang et al., 2022)."""

from __future__ import annotations

from typing import ClassVar, Literal, cast

import torch
from pydantic import Field
from torch import Tensor
from torch.nn import functional as F

from embedsearch.encoder.backbone import BackboneFacts
from embedsearch.encoder.heads import contrast_head
from embedsearch.encoder.model import Encoder
from embedsearch.errors import UserError
from embedsearch.losses.contrastive import nt_xent
from embedsearch.losses.neighbourhood import hardest_perturbation, nearest, neighbourhood_loss
from embedsearch.methods.base import Batch, Method, MethodConfig, ParameterGroup, Pooling, Views
from embedsearch.methods.two_views import TwoViewsConfig


class VaSCLConfig(TwoViewsConfig):
    """Eq. 6; defaults are the paper's for the base sizes (Appendix A), and the temperature, which
    is not printed, its authors' code's."""

    delta: float = Field(15.0, gt=0)
    """Δ, the norm of the virtual augmentation of an embedding (Eq. 3)."""
    k: int = Field(16, ge=1)
    """K, the neighbours of an instance, fewer than the batch. Not printed: the authors' code."""
    head_learning_rate: float = Field(5e-4, gt=0)
    """Of the head; ``learning_rate`` is the backbone's."""
    head_dim: int = Field(128, ge=1)
    detach_neighbourhood: bool = True
    """Whether the neighbourhood's loss trains the head alone, as in the authors' code, which the
    paper does not mention; else the backbone too."""
    noise: Literal["gaussian", "uniform"] = "gaussian"
    """Direction in which the perturbation starts: the paper's, or the authors' code's."""
    batch_size: int = Field(1024, ge=2)
    learning_rate: float = Field(5e-6, gt=0)
    pooling: Pooling = "mean"
    schedule: Literal["linear", "constant", "cosine"] = "constant"


class VaSCL(Method):
    """A contrast of two dropout views, and each instance told from its nearest neighbours though
    its embedding is moved by Δ to where that is hardest.

    Terms, means over 2M as in Eq. 6: ``contrast`` (Eq. 1) over both views, ``neighbourhood``
    (Eq. 5), in both directions over the augmented neighbourhood. The latter looks at the first
    view alone: the paper says e_i, of an instance encoded twice. The perturbation starts at norm 1,
    which is not printed, and runs through the head only.
    """

    Config: ClassVar[type[MethodConfig]] = VaSCLConfig

    def __init__(self, config: VaSCLConfig, encoder: Encoder) -> None:
        super().__init__(config, encoder)
        self.config = config
        self.head = contrast_head(encoder.dim, config.head_dim)

    @classmethod
    def check(cls, config: MethodConfig, backbone: BackboneFacts) -> None:
        """Raises ``UserError`` where a batch has no K neighbours, or both views are the same."""
        super().check(config, backbone)
        config = cast(VaSCLConfig, config)
        config.check_views(backbone)
        if config.k >= config.batch_size:
            raise UserError(
                f"k={config.k} neighbours can't be found among the {config.batch_size - 1} others "
                f"of a batch: give a k below batch_size={config.batch_size}"
            )

    def views(self, encoder: Encoder, batch: Batch) -> Views:
        """e_i and e_i', each (batch, dim)."""
        return self.config.two_views(encoder, batch)

    def terms(self, views: Views, batch: Batch) -> dict[str, Tensor]:
        """``contrast`` and ``neighbourhood``."""
        first, second = (self.head(view) for view in views)
        return {
            "contrast": nt_xent(first, second, self.config.temperature),
            "neighbourhood": self._neighbourhood(views[0]),
        }

    def parameter_groups(self, encoder: Encoder, learning_rate: float) -> list[ParameterGroup]:
        """The backbone at ``learning_rate``, the head at its own."""
        return [
            ParameterGroup(list(encoder.parameters()), learning_rate),
            ParameterGroup(list(self.parameters()), self.config.head_learning_rate),
        ]

    def _neighbourhood(self, embeddings: Tensor) -> Tensor:
        temperature = self.config.temperature
        if self.config.detach_neighbourhood:
            embeddings = embeddings.detach()
        neighbours = nearest(embeddings, self.config.k)
        moved = embeddings + self.perturbation(embeddings.detach(), neighbours)
        here, there = self.head(embeddings), self.head(moved)
        directions = [
            neighbourhood_loss(anchor, positive, (here, there), neighbours, temperature)
            for anchor, positive in ((here, there), (there, here))
        ]
        return torch.stack(directions).mean()

    def perturbation(self, embeddings: Tensor, neighbours: Tensor) -> Tensor:
        """δ* of norm Δ for each of (batch, dim) embeddings, through the head alone."""
        instances = self.head(embeddings).detach()
        draw = torch.randn_like if self.config.noise == "gaussian" else _uniform

        def loss(start: Tensor) -> Tensor:
            moved = self.head(embeddings + start)
            return neighbourhood_loss(
                moved, instances, (instances,), neighbours, self.config.temperature
            )

        start = F.normalize(draw(embeddings), dim=1)
        return hardest_perturbation(loss, start, self.config.delta)


def _uniform(like: Tensor) -> Tensor:
    return torch.rand_like(like) - 0.5
