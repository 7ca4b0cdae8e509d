"""From token states to one vector a sentence."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

LAYERS = {"cls": (-1,), "eos": (-1,), "mean": (-1,), "first_last": (1, -1), "top2": (-2, -1)}
"""Which hidden states each pooling averages. Index 0 is the embedding layer's output, so
``first_last`` means the outputs of the first and of the last transformer layer. ModernBERT and T5
normalise behind their last layer only: their last state is normalised, the others are the
residual stream as it is."""


def layer_weights(pooling: str, states: int) -> Tensor:
    """How often each of ``states`` hidden states is in the average of a pooling, (states,)."""
    weights = torch.zeros(states)
    for layer in LAYERS[pooling]:
        weights[layer] += 1
    return weights


def pool(pooling: str, hidden: Sequence[Tensor], mask: Tensor) -> Tensor:
    """One vector a sentence, (batch, dim).

    ``hidden`` holds all hidden states, each (batch, tokens, dim), or only the last one for
    ``cls``, ``eos`` and ``mean``; ``mask`` (batch, tokens) is 1 for tokens and 0 for the padding
    behind them. ``cls`` takes the state of the first token, ``eos`` that of the last.
    """
    if pooling == "cls":
        return hidden[-1][:, 0]
    if pooling == "eos":
        return hidden[-1][torch.arange(len(mask), device=mask.device), mask.sum(1) - 1]
    layers = [hidden[index] for index in LAYERS[pooling]]
    states = layers[0] if len(layers) == 1 else (layers[0] + layers[1]) / 2
    weight = mask.to(states.dtype).unsqueeze(-1)
    return (states * weight).sum(1) / weight.sum(1).clamp(min=1)
