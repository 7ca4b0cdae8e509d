"""InforMin-CL: its limits, its two forms, its language model term."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from embedsearch.encoder.backbone import describe
from embedsearch.encoder.model import Encoder
from embedsearch.errors import UserError
from embedsearch.methods.informin import InforMin, InforMinConfig
from embedsearch.methods.simcse import SimCSE, SimCSEConfig

Make = Callable[..., Path]


@pytest.fixture
def encoder(make_backbone: Make) -> Encoder:
    return Encoder.load(str(make_backbone("bert")), "cls").train()


def batch() -> dict[str, torch.Tensor]:
    ids = torch.randint(10, 400, (6, 9), generator=torch.Generator().manual_seed(2))
    return {"input_ids": ids, "attention_mask": torch.ones_like(ids)}


def terms(encoder: Encoder, method: torch.nn.Module) -> dict[str, torch.Tensor]:
    torch.manual_seed(7)
    found: dict[str, torch.Tensor] = method.terms(method.views(encoder, batch()), batch())
    return found


def made(encoder: Encoder, **values: object) -> InforMin:
    torch.manual_seed(3)
    return InforMin(InforMinConfig(**values), encoder).train()  # type: ignore[arg-type]


def test_at_lambda_0_it_is_simcse(encoder: Encoder) -> None:
    torch.manual_seed(3)
    simcse = SimCSE(SimCSEConfig(), encoder).train()
    found = terms(encoder, made(encoder, **{"lambda": 0}))
    assert torch.equal(found["contrast"], terms(encoder, simcse)["contrast"])
    assert found["reconstruction"].item() == 0


def test_lambda_weighs_the_reconstruction(encoder: Encoder) -> None:
    one = terms(encoder, made(encoder, **{"lambda": 0.4}))
    ten = terms(encoder, made(encoder, **{"lambda": 4}))
    torch.testing.assert_close(10 * one["reconstruction"], ten["reconstruction"])
    assert torch.equal(one["contrast"], ten["contrast"])


def test_the_printed_form_sums_over_features(encoder: Encoder) -> None:
    standard, printed = (made(encoder, form=form) for form in ("standard", "printed"))
    first, second = (standard.head(view) for view in standard.views(encoder, batch()))
    views = (first, second)
    printed.head = standard.head = torch.nn.Identity()
    squared = (first - second).square().sum(1).mean()
    found = printed.terms(views, batch())["reconstruction"]
    torch.testing.assert_close(found, 0.4 * squared)
    assert standard.terms(views, batch())["reconstruction"] < found


def test_beta_adds_masked_language_modelling(encoder: Encoder) -> None:
    method = made(encoder, beta=0.1)
    found = terms(encoder, method)
    assert set(found) == {"contrast", "reconstruction", "mlm"}
    double = terms(encoder, made(encoder, beta=0.2))
    torch.testing.assert_close(2 * found["mlm"], double["mlm"])
    sum(found.values()).backward()  # type: ignore[union-attr]
    assert all(p.grad is not None and torch.isfinite(p.grad).all() for p in method.parameters())


def test_without_beta_there_is_no_third_pass(encoder: Encoder) -> None:
    assert len(made(encoder).views(encoder, batch())) == 2


def test_no_dropout_is_refused(make_backbone: Make) -> None:
    facts = describe(str(make_backbone("bert", hidden_dropout_prob=0.0,
                                       attention_probs_dropout_prob=0.0)))  # fmt: skip
    with pytest.raises(UserError, match=r"dropout .* is zero"):
        InforMin.check(InforMinConfig(), facts)
    InforMin.check(InforMinConfig(dropout=0.1), facts)
