"""Which rows of a corpus make up the batch of a step."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from embedsearch.errors import UserError


class Batches:
    """Row numbers of every step's batch: a pure function of the step, so nothing is to be saved.

    Each epoch is a permutation seeded by (seed, epoch), cut into batches; the rows that fill no
    whole batch are left out of that epoch. Raises ``UserError`` where ``n`` fills not even one.
    """

    def __init__(self, n: int, batch_size: int, seed: int) -> None:
        if n < batch_size:
            raise UserError(
                f"the corpus has {n:,} sentences and a batch takes {batch_size:,}; "
                f"give a larger corpus or a smaller batch_size"
            )
        self.n = n
        self.batch_size = batch_size
        self.seed = seed
        self._epoch = -1
        self._order: NDArray[np.int64] = np.empty(0, dtype=np.int64)

    @property
    def steps_per_epoch(self) -> int:
        return self.n // self.batch_size

    def indices(self, step: int) -> NDArray[np.int64]:
        """Rows of the batch of ``step`` (the first is 0), as (batch_size,) int64."""
        epoch, place = divmod(step, self.steps_per_epoch)
        if epoch != self._epoch:
            self._order = np.random.default_rng([self.seed, epoch]).permutation(self.n)
            self._epoch = epoch
        return self._order[place * self.batch_size : (place + 1) * self.batch_size]
