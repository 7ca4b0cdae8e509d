"""The gradient of a batch, all of it at once."""

from __future__ import annotations

import torch
from torch import Tensor

from embedsearch.encoder.model import Encoder
from embedsearch.methods.base import Batch, Method, total


class Gradients:
    """Batches to views, views to terms, terms to gradients."""

    def __init__(self, encoder: Encoder, method: Method, precision: str) -> None:
        self.encoder, self.method, self.precision = encoder, method, precision

    def add(self, batch: Batch) -> dict[str, Tensor]:
        """Add the gradient of ``batch`` to that of the parameters; gives its terms."""
        with autocast(self.encoder, self.precision):
            views = self.method.views(self.encoder, batch)
            terms = self.method.terms(views, batch)
        total(terms).backward()  # type: ignore[no-untyped-call]
        return terms


def autocast(encoder: Encoder, precision: str) -> torch.autocast:
    """In which ``encoder`` runs at ``precision``: ``fp32`` or ``bf16``."""
    kind = encoder.device.type
    return torch.autocast(kind, dtype=torch.bfloat16, enabled=precision == "bf16")
