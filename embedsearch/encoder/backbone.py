"""What a backbone's files say of it, before any weight is read."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class BackboneFacts:
    """What a method must know of a backbone before the start."""

    location: str
    architecture: str
    """``model_type`` of its config: ``bert``, ``roberta``, ``distilbert``."""
    dim: int
    layers: int
    max_tokens: int
    """Longest input, special tokens included."""
    dropout: float
    """The highest rate of its own config."""
