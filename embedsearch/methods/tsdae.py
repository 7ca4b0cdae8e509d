"""TSDAE: a sequential denoising autoencoder (Wang et al., 2021)."""

from __future__ import annotations

from typing import ClassVar, Literal

import torch
from pydantic import Field
from torch import Tensor

from embedsearch.data.token_noise import delete_tokens
from embedsearch.encoder.decoder import CAN_DECODE, TiedDecoder
from embedsearch.encoder.model import Encoder
from embedsearch.methods.base import Batch, Method, MethodConfig, Rate, Views


class TSDAEConfig(MethodConfig):
    """Defaults are the paper's."""

    deletion: Rate = 0.6
    """Share of a sentence's tokens that the encoder does not see. The paper deletes words."""
    batch_size: int = Field(8, ge=2)
    schedule: Literal["linear", "constant", "cosine"] = "constant"


class TSDAE(Method):
    """An encoder sees a sentence with most of its tokens deleted, and a decoder that sees nothing
    but the embedding writes the whole sentence.

    One term, ``reconstruction``: the mean negative log-likelihood of the sentence's tokens, the end
    token included. Encoder and decoder share their weights (``TiedDecoder``).
    """

    Config: ClassVar[type[MethodConfig]] = TSDAEConfig
    architectures = CAN_DECODE

    def __init__(self, config: TSDAEConfig, encoder: Encoder) -> None:
        super().__init__(config, encoder)
        self.config = config
        self.decoder = TiedDecoder(encoder)

    def views(self, encoder: Encoder, batch: Batch) -> Views:
        """The embedding of the noisy batch (batch, dim), and the decoder's losses (batch, 2)."""
        special = torch.tensor(encoder.tokenizer.all_special_ids, device=encoder.device)
        embeddings = encoder.encode(delete_tokens(batch, self.config.deletion, special))
        return embeddings, self.decoder(embeddings, batch)

    def terms(self, views: Views, batch: Batch) -> dict[str, Tensor]:
        """``reconstruction``."""
        losses, counts = views[1].sum(0)
        return {"reconstruction": losses / counts}
