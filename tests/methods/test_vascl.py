"""VaSCL: what its neighbourhood trains, its two rates, and what it refuses."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from embedsearch.encoder.backbone import describe
from embedsearch.encoder.model import Encoder
from embedsearch.errors import UserError
from embedsearch.losses.contrastive import nt_xent
from embedsearch.losses.neighbourhood import nearest, neighbourhood_loss
from embedsearch.methods.vascl import VaSCL, VaSCLConfig

Make = Callable[..., Path]


@pytest.fixture
def encoder(make_backbone: Make) -> Encoder:
    return Encoder.load(str(make_backbone("roberta")), "mean").train()


def made(encoder: Encoder, **values: object) -> VaSCL:
    torch.manual_seed(3)
    return VaSCL(VaSCLConfig(**{"k": 3, "batch_size": 6, **values}), encoder).train()  # type: ignore[arg-type]


def batch() -> dict[str, torch.Tensor]:
    ids = torch.randint(10, 400, (6, 9), generator=torch.Generator().manual_seed(2))
    return {"input_ids": ids, "attention_mask": torch.ones_like(ids)}


def views(encoder: Encoder, method: VaSCL) -> tuple[torch.Tensor, ...]:
    torch.manual_seed(7)
    return method.views(encoder, batch())


def test_terms_are_equation_6(encoder: Encoder) -> None:
    method = made(encoder, delta=2.0)
    first, second = views(encoder, method)
    torch.manual_seed(5)
    terms = method.terms((first, second), batch())
    torch.manual_seed(5)
    rows = nearest(first, 3)
    moved = first + method.perturbation(first.detach(), rows)
    here, there = method.head(first), method.head(moved)
    both = [
        neighbourhood_loss(there, here, (here, there), rows, 0.05),
        neighbourhood_loss(here, there, (here, there), rows, 0.05),
    ]
    total = (6 * 2 * nt_xent(here, method.head(second), 0.05) + sum(both).sum()) / (2 * 6)
    torch.testing.assert_close(sum(terms.values()), total)


def test_the_virtual_augmentation_has_norm_delta_and_is_harder(encoder: Encoder) -> None:
    method = made(encoder, delta=1.0)
    embeddings, _ = (view.detach() for view in views(encoder, method))
    rows = nearest(embeddings, 3)
    torch.manual_seed(1)
    moved = method.perturbation(embeddings, rows)
    torch.testing.assert_close(moved.norm(dim=1), torch.ones(6))
    torch.manual_seed(1)
    start = torch.nn.functional.normalize(torch.randn_like(embeddings), dim=1)
    here = method.head(embeddings)
    at_start, at_end = (
        neighbourhood_loss(method.head(embeddings + d), here, (here,), rows, 0.05).mean()
        for d in (start, moved)
    )
    assert at_end > at_start
    assert all(p.grad is None for p in [*method.parameters(), *encoder.parameters()])


@pytest.mark.parametrize("detached", [True, False])
def test_what_the_neighbourhood_trains(detached: bool, encoder: Encoder) -> None:
    method = made(encoder, detach_neighbourhood=detached)
    method.terms(views(encoder, method), batch())["neighbourhood"].backward()
    reached = [p for p in encoder.parameters() if p.grad is not None and p.grad.abs().sum() > 0]
    assert bool(reached) is not detached
    assert all(p.grad is not None for p in method.parameters())


def test_two_rates(encoder: Encoder) -> None:
    method = made(encoder, head_learning_rate=5e-4)
    backbone, head = method.parameter_groups(encoder, 5e-6)
    assert (backbone.learning_rate, head.learning_rate) == (5e-6, 5e-4)
    assert {id(p) for p in head.parameters} == {id(p) for p in method.parameters()}


def test_noise_is_the_direction_of_the_start(encoder: Encoder) -> None:
    embeddings = torch.randn(6, encoder.dim)
    rows = nearest(embeddings, 3)
    gaussian, uniform = (
        made(encoder, noise=noise).perturbation(embeddings, rows)
        for noise in ("gaussian", "uniform")
    )
    assert not torch.equal(gaussian, uniform)


def test_as_many_neighbours_as_the_batch_are_refused(make_backbone: Make) -> None:
    facts = describe(str(make_backbone("roberta")))
    with pytest.raises(UserError, match=r"k=16 .* below batch_size=16"):
        VaSCL.check(VaSCLConfig(batch_size=16), facts)
    VaSCL.check(VaSCLConfig(batch_size=17), facts)
