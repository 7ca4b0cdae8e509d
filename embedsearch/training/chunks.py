"""The gradient of a batch that is computed in parts, though a contrast sees all of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import zip_longest

import torch
from torch import Tensor, nn

from embedsearch.encoder.model import Encoder
from embedsearch.methods.base import Batch, Method, Views, total
from embedsearch.training.gradients import Gradients, autocast
from embedsearch.training.randomness import random_state, set_random_state
from embedsearch.training.ranks import ALONE, Ranks, parts


@dataclass(frozen=True)
class _Chunk:
    """Some rows of a batch, and what they gave."""

    batch: Batch
    random: dict[str, Tensor]
    """Before they were encoded."""
    views: Views


class CachedGradients(Gradients):
    """Gradient caching (Gao et al. 2021): the views of at most ``chunk_size`` rows are computed at
    once, by each of ``ranks`` for its part of the batch.

    First all views, without a graph; then the terms, on the whole batch's views, and their
    gradient with respect to the views; then each chunk once more with its graph, through which
    its rows of that gradient go on. A chunk draws the same random numbers both times. The first
    chunk keeps its graph at once, so a batch of one chunk is encoded once.

    The gradient is that of the batch in one piece, up to rounding, for the masks that were drawn:
    nothing else is asked of a method than that row i of each view comes from row i of the batch.
    What is a mean over examples or tokens (a language model's loss) comes as sums and counts by
    row, so that its mean over the batch is exact, too.
    """

    def __init__(
        self,
        encoder: Encoder,
        method: Method,
        precision: str,
        trained: Sequence[nn.Parameter],
        chunk_size: int | None = None,
        ranks: Ranks = ALONE,
    ) -> None:
        """``chunk_size`` None is all rows that a rank has."""
        super().__init__(encoder, method, precision)
        self.trained, self.chunk_size, self.ranks = trained, chunk_size, ranks

    def add(self, batch: Batch) -> dict[str, Tensor]:
        """As of the whole batch; each rank's parameters then have the gradient of all ranks."""
        with self.ranks.own_randomness():
            chunks = self._encode(parts(batch, self.ranks.size)[self.ranks.number])
        shared = self.ranks.gather(_joined(chunk.views for chunk in chunks))
        leaves = [torch.cat(of_ranks).requires_grad_() for of_ranks in shared]
        with autocast(self.encoder, self.precision):
            terms = self.method.terms(tuple(leaves), batch)
        # What the terms themselves are made with (heads) has its gradient from one rank.
        total(terms).backward(  # type: ignore[no-untyped-call]
            inputs=None if self.ranks.is_first else leaves
        )
        behind = random_state()
        self._propagate(chunks, [self._own(*pair) for pair in zip(leaves, shared, strict=True)])
        set_random_state(behind)
        self.ranks.add_up(self.trained)
        return terms

    def _encode(self, batch: Batch) -> list[_Chunk]:
        rows = len(batch.get("input_ids", ()))
        count = 1 if self.chunk_size is None else -(-rows // self.chunk_size)
        chunks: list[_Chunk] = []
        for rows_of_it in parts(batch, count) if rows else ():
            before = random_state()
            with torch.set_grad_enabled(not chunks):
                chunks.append(_Chunk(rows_of_it, before, self._views(rows_of_it)))
        return chunks

    def _views(self, batch: Batch) -> Views:
        with autocast(self.encoder, self.precision):
            return self.method.views(self.encoder, batch)

    def _own(self, leaf: Tensor, of_ranks: Sequence[Tensor]) -> Tensor | None:
        """This rank's rows of a view's gradient; None where no term looks at the view."""
        if leaf.grad is None:
            return None
        counts = [len(rows) for rows in of_ranks]
        return torch.split(leaf.grad, counts)[self.ranks.number]

    def _propagate(self, chunks: Sequence[_Chunk], gradients: Sequence[Tensor | None]) -> None:
        """Through each chunk in turn the next rows of the views' ``gradients``."""
        left = list(gradients)
        for number, chunk in enumerate(chunks):
            views = chunk.views
            if number:
                set_random_state(chunk.random)
                views = self._views(chunk.batch)
            reached: list[Tensor] = []
            theirs: list[Tensor] = []
            for place, view in enumerate(views):
                gradient = left[place]
                if gradient is not None and view.requires_grad:
                    left[place] = gradient[len(view) :]
                    reached.append(view)
                    theirs.append(gradient[: len(view)])
            if reached:
                torch.autograd.backward(reached, theirs)


def _joined(chunks: Iterable[Views]) -> list[Tensor]:
    """Each view's rows of all chunks, without their graph; the later ones may lack a last view."""
    by_view = zip_longest(*chunks)
    return [torch.cat([rows.detach() for rows in view if rows is not None]) for view in by_view]
