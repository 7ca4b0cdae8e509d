"""Gradients of a batch in parts, computed in a way that is plain, and how far they are apart."""

from collections.abc import Iterator, Sequence
from itertools import zip_longest

import torch
from torch import Tensor, nn

from embedsearch.encoder.model import Encoder
from embedsearch.methods.base import Batch, Method, total
from embedsearch.training.gradients import Gradients, autocast
from embedsearch.training.randomness import random_state, set_random_state
from embedsearch.training.ranks import parts


class InOneGraph(Gradients):
    """What ``CachedGradients`` computes, drawn alike, but with the graphs of all chunks at once,
    and in one process."""

    def __init__(
        self, encoder: Encoder, method: Method, precision: str, chunk_size: int, ranks: int = 1
    ) -> None:
        super().__init__(encoder, method, precision)
        self.chunk_size, self.ranks = chunk_size, ranks

    def add(self, batch: Batch) -> dict[str, Tensor]:
        with autocast(self.encoder, self.precision):
            views = [self.method.views(self.encoder, chunk) for chunk in self._drawn(batch)]
            by_view = zip_longest(*views)
            whole = [torch.cat([rows for rows in view if rows is not None]) for view in by_view]
            terms = self.method.terms(tuple(whole), batch)
        total(terms).backward()  # type: ignore[no-untyped-call]
        return terms

    def _drawn(self, batch: Batch) -> Iterator[Batch]:
        """The chunks, each under its random numbers."""
        if self.ranks == 1:
            yield from self._chunks(batch)
            return
        common, behind = int(torch.randint(2**62, ())), random_state()
        for number, part in enumerate(parts(batch, self.ranks)):
            torch.manual_seed(common + number)
            yield from self._chunks(part)
        set_random_state(behind)

    def _chunks(self, batch: Batch) -> list[Batch]:
        rows = len(batch.get("input_ids", ()))
        return parts(batch, -(-rows // self.chunk_size)) if rows else []


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
    apart = sum(float((a.double() - b.double()).square().sum()) for a, b in pairs)
    return float((apart / size) ** 0.5)
