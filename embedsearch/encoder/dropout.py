"""Dropout: its rate set for one call, on unpatched transformers, and its masks drawn fast."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

_STEPS = 1 << 16
_RATE_NAMES = ("attention_dropout", "dropout")
"""How attention modules call a rate that they hold as a number (ModernBERT, T5)."""


class BitDropout(nn.Dropout):
    """``nn.Dropout``, which on a CPU draws four units of its mask from one random 64-bit word.

    PyTorch draws a double for each unit, a seventh of a small encoder's training step. The rate
    is rounded to 1/65536 here, and what is kept is scaled by that rounded rate.
    """

    def forward(self, input: Tensor) -> Tensor:
        """``input`` with a share ``p`` of its units zeroed and the others scaled by 1/(1-p)."""
        dropped = round(self.p * _STEPS)
        if not self.training or input.device.type != "cpu" or not 0 < dropped < _STEPS:
            return super().forward(input)
        words = torch.empty((input.numel() + 3) // 4, dtype=torch.int64).random_(-(2**63), None)
        units = words.view(torch.int16)[: input.numel()].view(input.shape)
        keep = (units >= dropped - _STEPS // 2).to(input.dtype)
        return input * keep.mul_(_STEPS / (_STEPS - dropped))


def draw_fast(model: nn.Module) -> None:
    """Put a ``BitDropout`` at every dropout site of ``model``.

    These are its ``nn.Dropout`` modules, and the ``nn.Identity`` that ModernBERT builds in the
    place of its ``out_drop`` when its rate is 0, where a view's own rate would find no site.
    """
    for parent in list(model.modules()):
        for name, child in parent.named_children():
            if type(child) is nn.Dropout:
                setattr(parent, name, BitDropout(child.p).train(child.training))
            elif name == "out_drop" and type(child) is nn.Identity:
                setattr(parent, name, BitDropout(0.0).train(child.training))


@contextmanager
def dropout_at(model: nn.Module, rate: float | None) -> Iterator[None]:
    """Let every dropout in ``model`` (embeddings, attention, hidden) drop ``rate`` of its units.

    None leaves the model's own rates, which are back at the end, also after an error. Attention
    weights are dropped functionally, under eager and sdpa attention alike, at a rate read at each
    forward: BERT, RoBERTa and DistilBERT read it off an ``nn.Dropout``, ModernBERT and T5 off a
    float of the attention module. Setting both kinds reaches all of it. SCD's authors patched
    transformers for this.
    """
    if rate is None:
        yield
        return
    own_rates = [(module, name, getattr(module, name)) for module, name in _rates(model)]
    try:
        for module, name, _ in own_rates:
            setattr(module, name, rate)
        yield
    finally:
        for module, name, own_rate in own_rates:
            setattr(module, name, own_rate)


def _rates(model: nn.Module) -> Iterator[tuple[nn.Module, str]]:
    """Every module that holds a dropout rate, and the attribute that holds it."""
    for module in model.modules():
        names = ("p",) if isinstance(module, nn.Dropout) else _RATE_NAMES
        for name in names:
            if isinstance(vars(module).get(name), (int, float)):
                yield module, name
