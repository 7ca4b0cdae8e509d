"""Dropout: its rate set for one call, on unpatched transformers, and its masks drawn fast."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

_STEPS = 1 << 16


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
    """Put a ``BitDropout`` in the place of every ``nn.Dropout`` in ``model``."""
    for parent in list(model.modules()):
        for name, child in parent.named_children():
            if type(child) is nn.Dropout:
                setattr(parent, name, BitDropout(child.p).train(child.training))


@contextmanager
def dropout_at(model: nn.Module, rate: float | None) -> Iterator[None]:
    """Let every dropout in ``model`` (embeddings, attention, hidden) drop ``rate`` of its units.

    BERT, RoBERTa and DistilBERT drop attention weights functionally, but read the rate off an
    ``nn.Dropout`` at each forward, under eager and sdpa attention alike; so setting the modules'
    rate reaches all of it. None leaves the model's own rates. SCD's authors patched transformers
    for this.
    """
    if rate is None:
        yield
        return
    sites = [module for module in model.modules() if isinstance(module, nn.Dropout)]
    own_rates = [site.p for site in sites]
    try:
        for site in sites:
            site.p = rate
        yield
    finally:
        for site, own_rate in zip(sites, own_rates, strict=True):
            site.p = own_rate
