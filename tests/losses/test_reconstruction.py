"""Numbers by hand, loops of the formulas, invariances."""

import pytest
import torch

from embedsearch.losses.reconstruction import reconstruction, reconstruction_printed

A, B = torch.randn(2, 7, 5, generator=torch.Generator().manual_seed(5))


def test_by_hand() -> None:
    """Unit vectors at a right angle are sqrt(2) apart: (2/d)·2 at d = 2 is 2."""
    first, second = torch.tensor([[3.0, 0.0]]), torch.tensor([[0.0, 5.0]])
    assert reconstruction(first, second).item() == pytest.approx(2)
    assert reconstruction_printed(first, second).item() == pytest.approx(34)


def test_is_the_decided_formula() -> None:
    """Two mean squared errors between unit vectors, as the authors' code adds them."""
    summed = 0.0
    for a, b in zip(A, B, strict=True):
        for x, y in zip(a / a.norm(), b / b.norm(), strict=True):
            summed += float(x - y) ** 2
    decided = 2 * summed / A.numel()
    assert reconstruction(A, B).item() == pytest.approx(decided, rel=1e-5)


def test_is_the_printed_formula() -> None:
    """Eq. 8: the mean over sentences of the squared norm."""
    printed = sum(float(x - y) ** 2 for x, y in zip(A.flatten(), B.flatten(), strict=True)) / len(A)
    assert reconstruction_printed(A, B).item() == pytest.approx(printed, rel=1e-5)


def test_at_768_the_printed_sum_is_384_times_as_strong() -> None:
    first, second = torch.nn.functional.normalize(torch.randn(2, 4, 768), dim=-1)
    ratio = reconstruction_printed(first, second) / reconstruction(first, second)
    assert ratio.item() == pytest.approx(384, rel=1e-4)


def test_ignores_scale_and_is_symmetric() -> None:
    torch.testing.assert_close(reconstruction(3 * A, 0.1 * B), reconstruction(A, B))
    torch.testing.assert_close(reconstruction(B, A), reconstruction(A, B))
    assert reconstruction(A, 2 * A).item() == pytest.approx(0, abs=1e-12)
    assert reconstruction_printed(A, A).item() == 0


def test_grows_with_the_angle_alone() -> None:
    """Between unit vectors it is (4/d)·(1 − cos)."""
    cosines = torch.nn.functional.cosine_similarity(A, B)
    assert reconstruction(A, B).item() == pytest.approx((4 / 5 * (1 - cosines)).mean().item())
