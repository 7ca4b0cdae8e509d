"""A decoder that writes a sentence from its embedding, on the encoder's own weights (TSDAE)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from embedsearch.encoder.model import Encoder, quiet_transformers

CAN_DECODE = ("bert", "roberta")
"""Architectures that transformers can run as a decoder with cross-attention."""


class TiedDecoder(nn.Module):
    """The backbone run once more as a causal language model that sees one vector.

    All weights that encoder and decoder have in common are one (Wang et al. 2021, section 3.1);
    only the cross-attention, and what the checkpoint lacks of a language model head, starts random.
    """

    def __init__(self, encoder: Encoder) -> None:
        super().__init__()
        model = _load(encoder)
        _tie(encoder.transformer, getattr(model, model.base_model_prefix))
        model.tie_weights()
        self.model: nn.Module = model

    def forward(self, embeddings: Tensor, batch: Mapping[str, Tensor]) -> Tensor:
        """How badly each sentence is written from its embedding (batch, dim): (batch, 2), the sum
        of its tokens' negative log-likelihoods, and how many they are."""
        ids, mask = batch["input_ids"], batch["attention_mask"]
        logits = self.model(
            input_ids=ids[:, :-1],
            attention_mask=mask[:, :-1],
            encoder_hidden_states=embeddings[:, None],
            use_cache=False,
        ).logits
        losses = F.cross_entropy(logits.float().transpose(1, 2), ids[:, 1:], reduction="none")
        counted = mask[:, 1:].to(losses.dtype)
        return torch.stack([(losses * counted).sum(1), counted.sum(1)], dim=1)


def _load(encoder: Encoder) -> Any:
    from transformers import AutoConfig, AutoModelForCausalLM

    location = encoder.facts.location
    config = AutoConfig.from_pretrained(location, trust_remote_code=False)
    config.is_decoder, config.add_cross_attention = True, True
    with quiet_transformers():
        return AutoModelForCausalLM.from_pretrained(
            location,
            config=config,
            trust_remote_code=False,
            use_safetensors=True,
            dtype=torch.float32,
        )


def _tie(encoder: nn.Module, decoder: nn.Module) -> None:
    """Put the encoder's parameters in the place of the decoder's of the same name."""
    for name, parameter in encoder.named_parameters():
        owner, _, own = name.rpartition(".")
        setattr(decoder.get_submodule(owner), own, parameter)
