"""Pooling by hand."""

import pytest
import torch

from embedsearch.encoder.pooling import pool

HIDDEN = [torch.full((1, 3, 2), float(i)) + torch.tensor([[[0.0], [1.0], [7.0]]]) for i in range(4)]
MASK = torch.tensor([[1, 1, 0]])


@pytest.mark.parametrize(
    ("pooling", "value"), [("cls", 3.0), ("mean", 3.5), ("first_last", 2.5), ("top2", 3.0)]
)
def test_worked_values(pooling: str, value: float) -> None:
    """Hidden state i holds i, i+1 and (behind the padding) i+7."""
    assert pool(pooling, HIDDEN, MASK).tolist() == [[value, value]]
