"""Span denoising: tokenised sentences with runs of tokens behind sentinels, and what they hid."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from embedsearch.data.token_noise import Batch, compact


class Denoising(NamedTuple):
    """T5's task: ``The <extra_id_0> sat </s>`` in, ``<extra_id_0> cat </s>`` out.

    Each has ``input_ids`` and ``attention_mask`` of (batch, its longest).
    """

    inputs: dict[str, Tensor]
    targets: dict[str, Tensor]


def hump_geometric(peak: int = 3, ratio: float = 0.66, longest: int = 10) -> Tensor:
    """GUR's distribution of span lengths: p(k) ∝ ``ratio``^|k − ``peak``|, k = 1 … ``longest``.

    (longest,), float64, summing to 1; 3.795 tokens in the mean as it stands. The paper gives the
    shape ("a geometric progression with a peak") and the authors' code the numbers. A geometric
    distribution of the same mean has more than twice its share of spans of one token.
    """
    lengths = torch.arange(1, longest + 1, dtype=torch.float64)
    weights = ratio ** (lengths - peak).abs()
    return weights / weights.sum()


def mask_spans(batch: Batch, lengths: Tensor, rate: float, sentinels: Tensor) -> Denoising:
    """Hide a share ``rate`` (up to 0.5) of each sentence's tokens, one at least, in random spans.

    ``input_ids`` and ``attention_mask`` are (batch, tokens), a sentence's last token (``</s>``) is
    never hidden, and a sentence of nothing else stays as it is. ``lengths`` (longest,) are the
    probabilities of a span's length; the last one is cut where the share is used up. Spans do not
    touch, and all ways to place them are equally likely. ``sentinels`` are ids, at least as many as
    there can be spans. Random numbers come from torch's generator.
    """
    ids = batch["input_ids"]
    counts = batch["attention_mask"].sum(1) - 1
    hidden = torch.minimum((rate * counts).round().long().clamp(min=1), counts)
    sizes = _sizes(hidden, lengths)
    starts = _starts(sizes, counts - hidden)
    place = torch.arange(ids.shape[1], device=ids.device)
    real = sizes > 0
    opens = torch.zeros_like(ids).scatter_add_(1, starts, real.long()) > 0
    closes = torch.zeros_like(ids).scatter_add_(1, starts + sizes, real.long())
    inside = (opens.long() - closes).cumsum(1) > 0
    sentinel = sentinels[(opens.cumsum(1) - 1).clamp(min=0)]
    inputs = compact(
        torch.where(opens, sentinel, ids), batch["attention_mask"].bool() & (opens | ~inside)
    )
    ends = place == counts[:, None]
    both = torch.stack([sentinel, ids], dim=2).flatten(1)
    targets = compact(both, torch.stack([opens, inside | ends], dim=2).flatten(1))
    return Denoising(inputs, targets)


def _sizes(hidden: Tensor, lengths: Tensor) -> Tensor:
    """Lengths of each sentence's spans (batch, spans), which sum to ``hidden``; 0 for none."""
    spans = max(1, int(hidden.max()))
    draws = torch.multinomial(lengths, len(hidden) * spans, replacement=True) + 1
    drawn = draws.view(len(hidden), spans)
    before = drawn.cumsum(1) - drawn
    return torch.minimum(drawn, (hidden[:, None] - before).clamp(min=0))


def _starts(sizes: Tensor, seen: Tensor) -> Tensor:
    """Where each span starts (batch, spans) in a sentence of which ``seen`` tokens stay.

    Of the ``seen + 1`` gaps between those tokens, as many as there are spans are drawn, so no two
    spans share one. Spans of no length start at 0.
    """
    gaps = torch.arange(int(seen.max()) + 1, device=sizes.device)
    draws = torch.rand((len(sizes), len(gaps)), device=sizes.device)
    draws = draws.masked_fill(gaps > seen[:, None], 2.0)
    drawn = draws.argsort(dim=1)[:, : sizes.shape[1]]
    gap = drawn.masked_fill(sizes == 0, len(gaps)).sort(dim=1).values
    starts = gap + sizes.cumsum(1) - sizes
    return starts.masked_fill(sizes == 0, 0)
