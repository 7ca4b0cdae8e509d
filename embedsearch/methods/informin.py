"""InforMin-CL: information minimization contrastive learning (Chen et al., 2022)."""

from __future__ import annotations

from typing import ClassVar, Literal, cast

from pydantic import Field
from torch import Tensor, nn

from embedsearch.encoder.backbone import BackboneFacts
from embedsearch.encoder.heads import HeadKind, head
from embedsearch.encoder.lm_head import HAVE_HEADS, MaskedLMHead, lm_losses
from embedsearch.encoder.model import Encoder
from embedsearch.errors import UserError
from embedsearch.losses.contrastive import info_nce
from embedsearch.losses.reconstruction import reconstruction, reconstruction_printed
from embedsearch.methods.base import Batch, Method, MethodConfig, Views
from embedsearch.methods.two_views import TwoViewsConfig


class InforMinConfig(TwoViewsConfig):
    """Eq. 9: ``L_C + λ·L_R``, and β·MLM beside it; defaults are Table 3's for BERT-base."""

    lambda_: float = Field(0.4, ge=0)
    """Weight of the reconstruction."""
    beta: float = Field(0.0, ge=0)
    """Weight of masked language modelling; the paper takes 0.1 where it transfers (Table 6)."""
    head: HeadKind = "mlp"
    """On the embedding, in training only."""
    form: Literal["standard", "printed"] = "standard"
    """``printed`` takes Eq. 8 to the letter, ``standard`` what the authors' code computes."""
    batch_size: int = Field(128, ge=2)


class InforMin(Method):
    """SimCSE's contrast, and a term that draws each sentence's two views together.

    Terms: ``contrast`` is InfoNCE with τ inside the exponent (Algorithm 1, Eq. 10; in Eq. 4 it
    would cancel), without the printed 1/N in the denominator, which only adds log N.
    ``reconstruction`` is λ times ``losses.reconstruction``; both are behind the head. ``mlm`` is β
    times the mean negative log-likelihood of masked tokens. The paper prints L_C as a maximum and
    L_R with a minus: what is meant, and done, is to minimise InfoNCE + λ·‖z¹ − z²‖².
    """

    Config: ClassVar[type[MethodConfig]] = InforMinConfig

    def __init__(self, config: InforMinConfig, encoder: Encoder) -> None:
        super().__init__(config, encoder)
        self.config = config
        self.head = head(config.head, encoder.dim)
        self.lm_head = MaskedLMHead(encoder) if config.beta else nn.Identity()

    @classmethod
    def check(cls, config: MethodConfig, backbone: BackboneFacts) -> None:
        """Raises ``UserError`` where two views would be the same, or no MLM head is known."""
        super().check(config, backbone)
        config = cast(InforMinConfig, config)
        config.check_views(backbone)
        if config.beta and backbone.architecture not in HAVE_HEADS:
            raise UserError(
                f"beta={config.beta:g} wants a masked language model head, and that of a "
                f"{backbone.architecture} is not known ({', '.join(HAVE_HEADS)} are); give beta=0"
            )

    def views(self, encoder: Encoder, batch: Batch) -> Views:
        """z¹ and z², each (batch, dim); with β also ``lm_losses`` (batch, 2), from a third pass."""
        pair = self.config.two_views(encoder, batch)
        if not isinstance(self.lm_head, MaskedLMHead):
            return pair
        return (*pair, lm_losses(encoder, self.lm_head, dict(batch)))

    def terms(self, views: Views, batch: Batch) -> dict[str, Tensor]:
        """``contrast``, ``reconstruction``, and with β ``mlm``, weighted."""
        config = self.config
        first, second = (self.head(view) for view in views[:2])
        rebuild = reconstruction_printed if config.form == "printed" else reconstruction
        terms = {
            "contrast": info_nce(first, second, config.temperature),
            "reconstruction": config.lambda_ * rebuild(first, second),
        }
        if config.beta:
            losses, counts = views[2].sum(0)
            terms["mlm"] = config.beta * losses / counts.clamp(min=1)
        return terms
