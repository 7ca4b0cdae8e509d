"""One call's own dropout rate, on unpatched transformers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from torch import nn


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
