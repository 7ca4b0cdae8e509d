"""Gradients of a batch in chunks, which are those of the batch in one piece."""

from collections.abc import Callable, Iterator, Sequence
from itertools import zip_longest
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from embedsearch.methods.base import Batch, total
from embedsearch.training.gradients import Gradients, autocast
from embedsearch.training.ranks import parts


class InOneGraph(Gradients):
    """What ``CachedGradients`` computes, drawn alike, with the graphs of all chunks at once."""

    chunk_size = 2

    def drawn(self, batch: Batch) -> Iterator[Batch]:
        """The chunks, under their random numbers."""
        rows = len(batch.get("input_ids", ()))
        yield from parts(batch, -(-rows // self.chunk_size)) if rows else ()

    def add(self, batch: Batch) -> dict[str, Tensor]:
        with autocast(self.encoder, self.precision):
            views = [self.method.views(self.encoder, chunk) for chunk in self.drawn(batch)]
            by_view = zip_longest(*views)
            whole = [torch.cat([rows for rows in view if rows is not None]) for view in by_view]
            terms = self.method.terms(tuple(whole), batch)
        total(terms).backward()
        return terms


def gradients(
    way: Gradients, batch: Batch, parameters: Sequence[nn.Parameter]
) -> list[Tensor | None]:
    """Each parameter's, always under the same random numbers."""
    for parameter in parameters:
        parameter.grad = None
    torch.manual_seed(5)
    way.add(batch)
    return [parameter.grad for parameter in parameters]


def deviation(found: Sequence[Tensor | None], wanted: Sequence[Tensor | None]) -> float:
    """The norm of the difference, relative to that of what is wanted."""
    assert [value is None for value in found] == [value is None for value in wanted]
    pairs = [(a, b) for a, b in zip(found, wanted, strict=True) if a is not None and b is not None]
    size = sum(float(b.double().square().sum()) for _, b in pairs)
    return (sum(float((a - b).double().square().sum()) for a, b in pairs) / size) ** 0.5
