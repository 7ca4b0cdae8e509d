"""Noise on tokenised batches: what is deleted or cropped, special tokens aside."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

Batch = Mapping[str, Tensor]


def delete_tokens(batch: Batch, rate: float, special: Tensor) -> dict[str, Tensor]:
    """``batch`` without a random share ``rate`` of each sentence's tokens; one at least stays.

    ``input_ids`` and ``attention_mask`` are (batch, tokens), ``special`` the ids that always stay.
    The result is as wide as its longest sentence.
    """
    ordinary = _ordinary(batch, special)
    draws = torch.rand(ordinary.shape, device=ordinary.device).masked_fill(~ordinary, 2.0)
    kept = draws >= rate
    kept.scatter_(1, draws.masked_fill(~ordinary, -1.0).argmax(1, keepdim=True), True)
    return compact(batch["input_ids"], kept & batch["attention_mask"].bool())


def crop_tokens(
    batch: Batch, shortest: float, longest: float, special: Tensor
) -> dict[str, Tensor]:
    """A random run of each sentence's tokens: a share of them between ``shortest`` and ``longest``.

    Length and place are drawn uniformly; one token at least stays, and special ones all do.
    """
    ordinary = _ordinary(batch, special)
    counts = ordinary.sum(1)
    share, place = torch.rand((2, len(counts)), device=counts.device)
    lengths = ((shortest + (longest - shortest) * share) * counts).round().long().clamp(min=1)
    starts = (place * (counts - lengths + 1)).long()
    number = ordinary.cumsum(1) - 1
    inside = (number >= starts[:, None]) & (number < (starts + lengths)[:, None])
    return compact(batch["input_ids"], batch["attention_mask"].bool() & (inside | ~ordinary))


def _ordinary(batch: Batch, special: Tensor) -> Tensor:
    return batch["attention_mask"].bool() & ~torch.isin(batch["input_ids"], special)


def compact(ids: Tensor, kept: Tensor) -> dict[str, Tensor]:
    """What of ``ids`` (batch, tokens) is ``kept``, moved together to the left, as a batch as wide
    as its longest sentence; what is behind it has a mask of 0."""
    order = (~kept).to(torch.int8).argsort(dim=1, stable=True)
    mask = kept.gather(1, order)
    width = int(mask.sum(1).max())
    return {
        "input_ids": ids.gather(1, order)[:, :width],
        "attention_mask": mask[:, :width].to(ids.dtype),
    }
