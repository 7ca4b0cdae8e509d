"""The encoder: a backbone and its pooling; sentences in, (batch, dim) out."""

from __future__ import annotations

from torch import nn


class Encoder(nn.Module):
    """A backbone and its pooling."""
