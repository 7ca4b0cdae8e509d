"""Numbers by hand, loops of the printed formulas, invariances."""

import math

import pytest
import torch

from embedsearch.losses.decorrelation import (
    cross_correlation,
    cross_correlation_printed,
    invariance,
    redundancy,
)

torch.manual_seed(5)
A, B = torch.randn(2, 9, 4)
BY_HAND = torch.tensor([[1.0, 0.5], [-2.0, 0.25]])


def test_sums_by_hand() -> None:
    assert invariance(BY_HAND).item() == pytest.approx(0.75**2)
    assert redundancy(BY_HAND).item() == pytest.approx(0.25 + 4)


def test_correlation_by_hand() -> None:
    """Columns that rise together, and against each other."""
    first = torch.tensor([[1.0, 2.0], [2.0, 0.0]])
    c = cross_correlation(first, first, eps=0.0)
    torch.testing.assert_close(c, torch.tensor([[1.0, -1.0], [-1.0, 1.0]]))


def test_correlation_is_pearson_of_every_pair_of_columns() -> None:
    c = cross_correlation(A, B, eps=0.0)
    for j in range(4):
        for k in range(4):
            a, b = A[:, j] - A[:, j].mean(), B[:, k] - B[:, k].mean()
            assert c[j, k].item() == pytest.approx(float(a @ b / (a.norm() * b.norm())), rel=1e-4)


def test_printed_correlation_by_hand() -> None:
    first = torch.tensor([[1.0], [2.0]])
    second = torch.tensor([[3.0], [1.0]])
    value = (3 + 2) / math.sqrt(9 + 4)
    assert cross_correlation_printed(first, second).item() == pytest.approx(value)


def test_printed_correlation_is_the_loop_of_equation_3() -> None:
    c = cross_correlation_printed(A, B)
    for j in range(4):
        for k in range(4):
            above = sum(float(A[i, j] * B[i, k]) for i in range(9))
            below = sum(float(A[i, j] ** 2 * B[i, k] ** 2) for i in range(9))
            assert c[j, k].item() == pytest.approx(above * below**-0.5, rel=1e-4)


def test_sums_are_the_loops_of_equation_4() -> None:
    c = cross_correlation(A, B)
    first = sum((1 - c[j, j].item()) ** 2 for j in range(4))
    second = sum(c[j, k].item() ** 2 for j in range(4) for k in range(4) if j != k)
    assert invariance(c).item() == pytest.approx(first, rel=1e-5)
    assert redundancy(c).item() == pytest.approx(second, rel=1e-5)


def test_standard_form_ignores_scale_shift_and_order() -> None:
    order = torch.randperm(9)
    moved = cross_correlation(A[order] * 7 + 3, B[order] * 0.5 - 1, eps=0.0)
    torch.testing.assert_close(moved, cross_correlation(A, B, eps=0.0), rtol=1e-4, atol=1e-5)


def test_standard_form_keeps_its_scale_when_the_batch_doubles() -> None:
    twice = cross_correlation(torch.cat([A, A]), torch.cat([B, B]))
    torch.testing.assert_close(twice, cross_correlation(A, B))


def test_printed_form_does_not() -> None:
    """Eq. 3 to the letter grows by √2: one reason why it is not the default."""
    twice = cross_correlation_printed(torch.cat([A, A]), torch.cat([B, B]))
    torch.testing.assert_close(twice, cross_correlation_printed(A, B) * math.sqrt(2))
