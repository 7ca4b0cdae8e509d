"""A view's own rate takes effect in every supported architecture, attention included."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from embedsearch.encoder.backbone import SUPPORTED
from embedsearch.encoder.dropout import BitDropout, dropout_at
from embedsearch.encoder.model import Encoder

IDS = torch.randint(10, 500, (4, 12), generator=torch.Generator().manual_seed(1))
BATCH = {"input_ids": IDS, "attention_mask": torch.ones_like(IDS)}


@pytest.fixture(params=[(a, i) for a in SUPPORTED for i in ("eager", "sdpa")], ids="-".join)
def encoder(request: pytest.FixtureRequest, make_backbone: Callable[..., Path]) -> Encoder:
    architecture, attention = request.param
    encoder = Encoder.load(str(make_backbone(architecture)), "mean")
    encoder.transformer.set_attn_implementation(attention)
    return encoder.train()


def spread(encoder: Encoder, rate: float) -> float:
    """Variance of an encoding over dropout masks."""
    torch.manual_seed(0)
    views = torch.stack([encoder.encode(BATCH, dropout=rate) for _ in range(12)])
    return float(views.detach().var(0).mean())


def test_variance_grows_with_the_rate(encoder: Encoder) -> None:
    spreads = [spread(encoder, rate) for rate in (0.0, 0.05, 0.15, 0.4)]
    assert spreads[0] == 0
    assert spreads == sorted(spreads) and spreads[1] > 0


def rates(encoder: Encoder) -> list[tuple[str, str, float]]:
    """Every number in the backbone that has to do with dropout, by its place."""
    return [
        (place, name, value)
        for place, module in encoder.transformer.named_modules()
        for name, value in vars(module).items()
        if (name == "p" or "drop" in name) and isinstance(value, (int, float))
    ]


def test_rate_lasts_for_one_call(encoder: Encoder) -> None:
    before = rates(encoder)
    with dropout_at(encoder, 0.7):
        assert {value for _, _, value in rates(encoder)} == {0.7}
    encoder.encode(BATCH, dropout=0.7)
    assert rates(encoder) == before


def test_rate_is_restored_after_an_error(encoder: Encoder) -> None:
    before = rates(encoder)
    with pytest.raises(ZeroDivisionError), dropout_at(encoder, 0.7):
        raise ZeroDivisionError
    assert rates(encoder) == before


def cut_out(encoder: Encoder, wanted: Callable[[str], bool]) -> None:
    """Take dropout modules out of the forward, by their place; their rates are read as before."""
    for place, module in encoder.transformer.named_modules():
        if isinstance(module, nn.Dropout) and wanted(place):
            module.forward = lambda x: x  # type: ignore[method-assign]


def assert_only_the_rate_moves(encoder: Encoder) -> None:
    still = [encoder.encode(BATCH, dropout=0.0) for _ in range(2)]
    moved = [encoder.encode(BATCH, dropout=0.5) for _ in range(2)]
    assert torch.equal(*still)
    assert not torch.equal(*moved)


def test_attention_weights_alone_are_dropped(encoder: Encoder) -> None:
    """With every hidden dropout cut out of the forward, the rate still moves the encoding."""
    cut_out(encoder, lambda place: True)
    assert_only_the_rate_moves(encoder)


@pytest.mark.parametrize("own", [0.0, 0.1])
def test_modernbert_drops_behind_its_attention_whatever_its_own_rate(
    own: float, make_backbone: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Built at 0, it has no site there; with everything else cut out, that site moves it."""
    encoder = Encoder.load(str(make_backbone("modernbert", attention_dropout=own)), "mean").train()
    encoder.transformer.set_attn_implementation("eager")  # type: ignore[operator]
    monkeypatch.setattr(nn.functional, "dropout", lambda x, *_, **__: x)
    cut_out(encoder, lambda place: not place.endswith("out_drop"))
    assert_only_the_rate_moves(encoder)


def test_evaluation_mode_drops_nothing(encoder: Encoder) -> None:
    encoder.eval()
    assert torch.equal(encoder.encode(BATCH, dropout=0.5), encoder.encode(BATCH))


def dropped(x: Tensor, rate: float) -> Tensor:
    torch.manual_seed(3)
    return BitDropout(rate)(x)


def test_fast_masks_drop_the_rate_and_keep_the_mean() -> None:
    x = torch.ones(1_000_001, requires_grad=True)
    for rate in (0.065, 0.1, 0.5):
        out = dropped(x, rate)
        assert (out == 0).float().mean().item() == pytest.approx(rate, abs=2e-3)
        assert out.detach().unique().tolist() == pytest.approx([0, 1 / (1 - rate)], rel=2e-5)
        assert torch.equal(torch.autograd.grad(out.sum(), x)[0], out)


def test_fast_masks_differ_by_draw_and_agree_by_seed() -> None:
    x = torch.ones(7, 33)
    assert torch.equal(dropped(x, 0.3), dropped(x, 0.3))
    assert dropped(x, 0.3).shape == x.shape
    site = BitDropout(0.3)
    assert not torch.equal(site(x), site(x))
    assert torch.equal(site.eval()(x), x)
    assert torch.equal(BitDropout(0.0)(x), x)
    assert not BitDropout(1.0)(x).any()


def test_neighbouring_units_of_a_word_are_independent() -> None:
    kept = (dropped(torch.ones(40_000, 4), 0.5) > 0).float()
    correlations = torch.corrcoef(kept.T) - torch.eye(4)
    assert correlations.abs().max() < 0.03


def test_a_loaded_backbone_draws_fast(encoder: Encoder) -> None:
    sites = [m for m in encoder.transformer.modules() if isinstance(m, nn.Dropout)]
    assert sites and all(isinstance(site, BitDropout) for site in sites)
