"""Contrastive Tension by hand, as loops of the printed formula, and its invariances."""

import math

import pytest
import torch

from embedsearch.losses.tension import tension

A, B = torch.randn(2, 7, 5, generator=torch.Generator().manual_seed(8))


def test_by_hand() -> None:
    """Orthogonal vectors: every dot product of a negative is 0, of a positive 1."""
    eye = torch.eye(2)
    wanted = (math.log(1 + math.exp(-1)) + math.log(2)) / 2
    assert tension(eye, eye, 1).item() == pytest.approx(wanted)


def test_is_the_printed_formula() -> None:
    losses = []
    for i in range(7):
        losses.append(-math.log(1 / (1 + math.exp(-float(A[i] @ B[i])))))
        for shift in (1, 2, 3):
            other = B[(i + shift) % 7]
            losses.append(-math.log(1 - 1 / (1 + math.exp(-float(A[i] @ other)))))
    assert tension(A, B, 3).item() == pytest.approx(sum(losses) / len(losses), rel=1e-5)


def test_no_sentence_is_its_own_negative() -> None:
    """With all others as negatives, the order of the batch is nothing to it."""
    order = torch.randperm(7, generator=torch.Generator().manual_seed(1))
    torch.testing.assert_close(tension(A[order], B[order], 6), tension(A, B, 6))


def test_unlike_vectors_are_pulled_apart() -> None:
    first = A.clone().requires_grad_()
    tension(first, B, 6).backward()
    assert first.grad is not None
    moved = A - 0.1 * first.grad
    assert tension(moved, B, 6) < tension(A, B, 6)
