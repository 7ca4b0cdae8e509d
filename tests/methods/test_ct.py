"""CT: two encoders that start alike, of which one stays."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from embedsearch.encoder.backbone import describe
from embedsearch.encoder.model import Encoder
from embedsearch.errors import UserError
from embedsearch.methods.ct import CT, CTConfig

Make = Callable[..., Path]


@pytest.fixture
def encoder(make_backbone: Make) -> Encoder:
    return Encoder.load(str(make_backbone("bert")), "mean")


def batch() -> dict[str, torch.Tensor]:
    ids = torch.randint(10, 400, (6, 9), generator=torch.Generator().manual_seed(2))
    return {"input_ids": ids, "attention_mask": torch.ones_like(ids)}


def test_both_start_alike_and_share_nothing(encoder: Encoder) -> None:
    method = CT(CTConfig(negatives=3), encoder).eval()
    first, second = method.views(encoder.eval(), batch())
    assert torch.equal(first, second)
    assert not {id(p) for p in method.parameters()} & {id(p) for p in encoder.parameters()}
    tension = method.terms(method.views(encoder, batch()), batch())["tension"]
    tension.backward()
    assert all(p.grad is None or p.grad.isfinite().all() for p in encoder.parameters())
    assert sum(p.grad is not None for p in method.parameters()) > 20


def test_the_objectives_differ(encoder: Encoder) -> None:
    torch.manual_seed(1)
    views = tuple(torch.randn(2, 6, encoder.dim))
    pairs, in_batch = (
        CT(CTConfig(objective=o, negatives=3), encoder).terms(views, batch())["tension"]
        for o in ("pairs", "in_batch")
    )
    assert pairs != in_batch


def test_too_few_negatives_are_refused(make_backbone: Make) -> None:
    facts = describe(str(make_backbone("bert")))
    with pytest.raises(UserError, match=r"negatives=7 .* fewer than batch_size=7"):
        CT.check(CTConfig(batch_size=7), facts)
    CT.check(CTConfig(batch_size=7, objective="in_batch"), facts)
