"""Batches: every row once an epoch, and the same at a step however it was reached."""

from __future__ import annotations

import numpy as np
import pytest

from embedsearch.data.batches import Batches
from embedsearch.errors import UserError


def test_an_epoch_has_each_row_at_most_once_and_drops_the_rest() -> None:
    batches = Batches(n=103, batch_size=10, seed=0)
    assert batches.steps_per_epoch == 10
    for epoch in range(3):
        steps = range(epoch * 10, epoch * 10 + 10)
        rows = np.concatenate([batches.indices(step) for step in steps])
        assert len(set(rows.tolist())) == 100
        assert 0 <= rows.min() <= rows.max() < 103


def test_a_step_is_the_same_in_whatever_order_it_is_asked_for() -> None:
    forwards, backwards = Batches(50, 8, seed=3), Batches(50, 8, seed=3)
    there = [forwards.indices(step).tolist() for step in range(20)]
    back = [backwards.indices(step).tolist() for step in reversed(range(20))]
    assert there == back[::-1]


def test_seeds_and_epochs_differ() -> None:
    batches = Batches(100, 100, seed=0)
    assert batches.indices(0).tolist() != batches.indices(1).tolist()
    assert batches.indices(0).tolist() != Batches(100, 100, seed=1).indices(0).tolist()
    assert batches.indices(1).tolist() != Batches(100, 100, seed=1).indices(0).tolist()


def test_a_batch_larger_than_the_corpus() -> None:
    assert Batches(8, 8, seed=0).steps_per_epoch == 1
    with pytest.raises(UserError, match="the corpus has 7 sentences and a batch takes 8"):
        Batches(7, 8, seed=0)
