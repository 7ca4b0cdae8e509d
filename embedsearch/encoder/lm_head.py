"""A backbone's masked language model head, on the embeddings of its own words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from embedsearch.encoder.model import Encoder, quiet_transformers

MASKED = 0.15
"""Share of the tokens that are predicted (BERT, Devlin et al. 2019)."""


class MaskedLMHead(nn.Module):
    """Predicts masked tokens from an encoder's states; the output matrix is that of its inputs.

    Loaded from the backbone's folder. Weights that it lacks (many checkpoints have no head) start
    random, as they would in a model that is trained further.
    """

    def __init__(self, encoder: Encoder) -> None:
        super().__init__()
        head = _load(encoder.facts.location)
        self.transform: nn.Module = head.transform
        self.bias = nn.Parameter(head.bias.detach().clone())

    def forward(self, states: Tensor, words: Tensor) -> Tensor:
        """Logits (tokens, vocabulary) of ``states`` (tokens, dim) over ``words``, the encoder's
        input embeddings (vocabulary, dim)."""
        return F.linear(self.transform(states), words, self.bias)


@dataclass(frozen=True)
class Masked:
    """A batch with some of its tokens hidden."""

    input_ids: Tensor
    """(batch, tokens)."""
    chosen: Tensor
    """Which are to be predicted, (batch, tokens), bool."""


def mask_tokens(ids: Tensor, attention_mask: Tensor, tokenizer: Any) -> Masked:
    """Hide 15 % of the tokens of ``ids`` (batch, tokens), special ones never.

    Of those, 80 % become the mask token, 10 % a random one, 10 % stay (BERT's standard).
    """
    special = torch.tensor(tokenizer.all_special_ids, device=ids.device)
    ordinary = attention_mask.bool() & ~torch.isin(ids, special)
    draw, kind = torch.rand((2, *ids.shape), device=ids.device)
    chosen = ordinary & (draw < MASKED)
    random = torch.randint_like(ids, len(tokenizer))
    hidden = torch.where(kind < 0.8, tokenizer.mask_token_id, torch.where(kind < 0.9, random, ids))
    return Masked(torch.where(chosen, hidden, ids), chosen)


def lm_losses(encoder: Encoder, head: MaskedLMHead, batch: dict[str, Tensor]) -> Tensor:
    """How badly each sentence's hidden tokens are predicted, (batch, 2): the sum of their negative
    log-likelihoods, and how many they are. Sums over a batch, so that parts of it add up."""
    masked = mask_tokens(batch["input_ids"], batch["attention_mask"], encoder.tokenizer)
    states = encoder.states({**batch, "input_ids": masked.input_ids})
    words = encoder.transformer.get_input_embeddings().weight  # type: ignore[operator]
    logits = head(states[masked.chosen], words)
    losses = F.cross_entropy(logits.float(), batch["input_ids"][masked.chosen], reduction="none")
    rows = masked.chosen.nonzero()[:, 0]
    sums = losses.new_zeros(len(states)).index_add(0, rows, losses)
    return torch.stack([sums, masked.chosen.sum(1).to(sums.dtype)], dim=1)


def _load(location: str) -> Any:
    from transformers import AutoModelForMaskedLM

    with quiet_transformers():
        model = AutoModelForMaskedLM.from_pretrained(
            location, trust_remote_code=False, use_safetensors=True, dtype=torch.float32
        )
    return _PARTS[model.config.model_type](model)


@dataclass(frozen=True)
class _Head:
    transform: nn.Module
    bias: Tensor


def _bert(model: Any) -> _Head:
    return _Head(model.cls.predictions.transform, model.cls.predictions.bias)


def _roberta(model: Any) -> _Head:
    head = model.lm_head
    return _Head(nn.Sequential(head.dense, nn.GELU(), head.layer_norm), head.bias)


def _distilbert(model: Any) -> _Head:
    parts = (model.vocab_transform, model.activation, model.vocab_layer_norm)
    return _Head(nn.Sequential(*parts), model.vocab_projector.bias)


_PARTS = {"bert": _bert, "roberta": _roberta, "distilbert": _distilbert}
HAVE_HEADS = tuple(_PARTS)
"""Architectures whose language model head is known."""
