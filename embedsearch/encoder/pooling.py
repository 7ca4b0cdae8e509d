"""From token states to one vector a sentence."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

LAYERS = {"cls": (-1,), "mean": (-1,), "first_last": (1, -1), "top2": (-2, -1)}
"""Which hidden states each pooling averages. Index 0 is the embedding layer's output, so
``first_last`` means the outputs of the first and of the last transformer layer."""


def pool(pooling: str, hidden: Sequence[Tensor], mask: Tensor) -> Tensor:
    """One vector a sentence, (batch, dim).

    ``hidden`` holds all hidden states, each (batch, tokens, dim), or only the last one for
    ``cls`` and ``mean``; ``mask`` (batch, tokens) is 1 for tokens and 0 for padding.
    """
    if pooling == "cls":
        return hidden[-1][:, 0]
    layers = [hidden[index] for index in LAYERS[pooling]]
    states = layers[0] if len(layers) == 1 else (layers[0] + layers[1]) / 2
    weight = mask.to(states.dtype).unsqueeze(-1)
    return (states * weight).sum(1) / weight.sum(1).clamp(min=1)
