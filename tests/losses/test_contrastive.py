"""Numbers by hand, loops of the printed formulas, invariances."""

import math
from collections.abc import Callable

import pytest
import torch

from embedsearch.losses.contrastive import (
    info_nce,
    nt_xent,
    self_contrast,
    symmetric_info_nce,
)

torch.manual_seed(3)
A, B = torch.randn(2, 7, 5)


def cosine(x: torch.Tensor, y: torch.Tensor) -> float:
    return float(x @ y / (x.norm() * y.norm()))


def test_info_nce_by_hand() -> None:
    """Orthogonal rows: the positive has cosine 1, the one negative 0."""
    eye = torch.eye(2)
    assert info_nce(eye, eye, 0.5).item() == pytest.approx(math.log(1 + math.exp(-2)))


def test_info_nce_is_the_printed_formula() -> None:
    printed = 0.0
    for i in range(len(A)):
        total = sum(math.exp(cosine(A[i], B[j]) / 0.05) for j in range(len(B)))
        printed -= math.log(math.exp(cosine(A[i], B[i]) / 0.05) / total) / len(A)
    assert info_nce(A, B, 0.05).item() == pytest.approx(printed, rel=1e-5)


def test_info_nce_ignores_order_and_scale() -> None:
    order = torch.randperm(len(A))
    there = info_nce(A, B, 0.1)
    torch.testing.assert_close(info_nce(3 * A[order], 0.2 * B[order], 0.1), there)


def test_symmetric_by_hand() -> None:
    """Both second rows are as near to either first one: log 2 one way; cosines of 1 and 0, of which
    each is a positive once, the other."""
    eye, same = torch.eye(2), torch.tensor([[1.0, 0.0], [1.0, 0.0]])
    assert symmetric_info_nce(eye, eye, 0.5).item() == pytest.approx(math.log(1 + math.exp(-2)))
    other = (math.log(1 + math.exp(-1)) + math.log(1 + math.exp(1))) / 2
    found = symmetric_info_nce(eye, same, 1.0).item()
    assert found == pytest.approx((math.log(2) + other) / 2)


def naive(known: torch.Tensor) -> float:
    """Each row and each column among those that are not known to belong to it."""
    printed = 0.0
    for i in range(7):
        for pairs in ([(i, j) for j in range(7)], [(j, i) for j in range(7)]):
            kept = [(a, b) for a, b in pairs if a == b or not known[a, b]]
            total = sum(math.exp(cosine(A[a], B[b]) / 0.1) for a, b in kept)
            printed -= math.log(math.exp(cosine(A[i], B[i]) / 0.1) / total) / 14
    return printed


def test_symmetric_is_the_printed_formula_both_ways() -> None:
    none = torch.zeros(7, 7, dtype=torch.bool)
    assert symmetric_info_nce(A, B, 0.1).item() == pytest.approx(naive(none), rel=1e-5)
    both = (info_nce(A, B, 0.1) + info_nce(B, A, 0.1)) / 2
    torch.testing.assert_close(symmetric_info_nce(A, B, 0.1), both)


def test_symmetric_leaves_out_what_is_known() -> None:
    known = torch.rand(7, 7, generator=torch.Generator().manual_seed(1)) < 0.3
    found = symmetric_info_nce(A, B, 0.1, known)
    assert found.item() == pytest.approx(naive(known), rel=1e-5)
    torch.testing.assert_close(symmetric_info_nce(B, A, 0.1, known.T), found)
    everything = torch.ones(7, 7, dtype=torch.bool)
    assert symmetric_info_nce(A, B, 0.1, everything).item() == pytest.approx(0, abs=1e-6)


def test_symmetric_ignores_order_and_scale() -> None:
    order = torch.randperm(len(A), generator=torch.Generator().manual_seed(1))
    there = symmetric_info_nce(A, B, 0.1)
    torch.testing.assert_close(symmetric_info_nce(3 * A[order], 0.2 * B[order], 0.1), there)


def test_nt_xent_by_hand() -> None:
    """Four rows, two directions: the positive has cosine 1, the other two 0."""
    eye = torch.eye(2)
    assert nt_xent(eye, eye, 0.5).item() == pytest.approx(math.log(1 + 2 * math.exp(-2)))


def test_nt_xent_is_the_printed_formula() -> None:
    """VaSCL, Eq. 1, among 2M - 1 candidates, and the 1/2M of Eq. 6."""
    rows, m, printed = [*A, *B], len(A), 0.0
    for i in range(2 * m):
        positive = (i + m) % (2 * m)
        others = [j for j in range(2 * m) if j != i]
        total = sum(math.exp(cosine(rows[i], rows[j]) / 0.1) for j in others)
        printed -= math.log(math.exp(cosine(rows[i], rows[positive]) / 0.1) / total) / (2 * m)
    assert nt_xent(A, B, 0.1).item() == pytest.approx(printed, rel=1e-5)


def test_nt_xent_is_symmetric_and_ignores_scale() -> None:
    torch.testing.assert_close(nt_xent(B, 4 * A, 0.1), nt_xent(A, B, 0.1))


def test_self_contrast_by_hand() -> None:
    first = torch.tensor([[1.0, 0.0], [2.0, 2.0]])
    second = torch.tensor([[0.0, 5.0], [1.0, 1.0]])
    assert self_contrast(first, second).item() == pytest.approx(0.5)


def test_self_contrast_is_the_printed_formula() -> None:
    printed = sum(cosine(a, b) for a, b in zip(A, B, strict=True)) / len(A)
    assert self_contrast(A, B).item() == pytest.approx(printed, rel=1e-5)


def test_self_contrast_does_not_grow_with_the_batch() -> None:
    twice = self_contrast(torch.cat([A, A]), torch.cat([B, B]))
    torch.testing.assert_close(twice, self_contrast(A, B))


@pytest.mark.parametrize("loss", [lambda: info_nce(A, B, 0.05), lambda: self_contrast(A, B)])
def test_autocast_does_not_reach_the_loss(loss: Callable[[], torch.Tensor]) -> None:
    outside = loss()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.equal(loss(), outside)
