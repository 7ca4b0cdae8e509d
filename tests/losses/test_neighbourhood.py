"""VaSCL's losses by hand, as loops of the printed formulas, and what its ascent must do."""

import math

import pytest
import torch
from torch import Tensor

from embedsearch.losses.neighbourhood import hardest_perturbation, nearest, neighbourhood_loss

A, P, N, Q = torch.randn(4, 8, 5, generator=torch.Generator().manual_seed(4))


def cosine(x: Tensor, y: Tensor) -> float:
    return float(x @ y / (x.norm() * y.norm()))


def printed(anchor: Tensor, positive: Tensor, others: list[Tensor], rows: Tensor) -> list[float]:
    """Eq. 2, one instance after another."""
    losses = []
    for i in range(len(anchor)):
        here = math.exp(cosine(anchor[i], positive[i]) / 0.1)
        there = sum(math.exp(cosine(anchor[i], o[int(k)]) / 0.1) for o in others for k in rows[i])
        losses.append(-math.log(here / (here + there)))
    return losses


def test_nearest_by_hand() -> None:
    """By inner product, so that a long vector is near to more."""
    points = torch.tensor([[1.0, 0.0], [0.8, 0.1], [0.0, 1.0], [5.0, 5.0]])
    assert nearest(points, 1)[:, 0].tolist() == [3, 3, 3, 0]
    assert nearest(points, 2)[0].tolist() == [3, 1]


def test_nearest_is_never_itself() -> None:
    rows = nearest(A, len(A) - 1)
    assert all(i not in found for i, found in enumerate(rows.tolist()))
    assert all(len(set(found)) == len(A) - 1 for found in rows.tolist())


def test_duplicates_are_neighbours_of_each_other() -> None:
    assert nearest(A[[0, 0, 1]] * 9, 1)[:2, 0].tolist() == [1, 0]


def test_loss_by_hand() -> None:
    """The positive has cosine 1, the one neighbour 0: log(1 + e^(−1/τ))."""
    eye = torch.eye(2)
    loss = neighbourhood_loss(eye, eye, (eye,), torch.tensor([[1], [0]]), 0.5)
    assert loss.tolist() == pytest.approx([math.log(1 + math.exp(-2))] * 2)


@pytest.mark.parametrize("others", [[N], [N, Q]], ids=["neighbourhood", "augmented"])
def test_loss_is_the_printed_formula(others: list[Tensor]) -> None:
    rows = nearest(A, 3)
    found = neighbourhood_loss(A, P, others, rows, 0.1)
    assert found.tolist() == pytest.approx(printed(A, P, others, rows), rel=1e-5)


def test_a_larger_neighbourhood_is_harder() -> None:
    rows = nearest(A, 5)
    few, many = (neighbourhood_loss(A, P, (N,), rows[:, :k], 0.1) for k in (2, 5))
    assert (many > few).all() and (few > 0).all()


def test_perturbation_has_its_norm_and_raises_the_loss() -> None:
    torch.manual_seed(0)
    head = torch.nn.Linear(5, 5)
    instances, rows = head(A).detach(), nearest(A, 3)

    def loss(start: Tensor) -> Tensor:
        return neighbourhood_loss(head(A + start), instances, (instances,), rows, 0.1)

    start = torch.nn.functional.normalize(torch.randn_like(A), dim=1)
    for radius in (0.5, 1.0, 3.0):
        moved = hardest_perturbation(loss, radius * start, radius)
        torch.testing.assert_close(moved.norm(dim=1), torch.full((8,), radius))
        assert loss(moved).mean() > loss(radius * start).mean()
    assert all(p.grad is None for p in head.parameters()), "the inner step leaves no gradient"


def test_perturbation_is_a_step_up_the_gradient() -> None:
    start = torch.zeros(8, 5)
    moved = hardest_perturbation(lambda x: (x * P).sum(1), start, 2.0)
    torch.testing.assert_close(moved, 2 * P / P.norm(dim=1, keepdim=True))
    assert not moved.requires_grad and start.grad is None and not start.requires_grad
