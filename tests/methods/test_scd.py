"""SCD's loss, term by term, against the paper's sums on what the encoder gave."""

from types import SimpleNamespace

import pytest
import torch

from embedsearch.losses.contrastive import self_contrast
from embedsearch.methods.scd import SCD, SCDConfig

torch.manual_seed(11)
VIEWS = tuple(torch.randn(2, 8, 6))
NO_BATCH: dict[str, torch.Tensor] = {}


def scd(**values: object) -> SCD:
    torch.manual_seed(0)
    return SCD(SCDConfig(projector_dim=5, **values), SimpleNamespace(dim=6))  # type: ignore[arg-type]


def test_standard_terms_are_the_sums_of_equation_4() -> None:
    method = scd(alpha=0.3, **{"lambda": 0.2})
    terms = method.terms(VIEWS, NO_BATCH)
    p = [method.projector(view) for view in VIEWS]
    z = [(x - x.mean(0)) / (x.var(0, correction=0) + 1e-5).sqrt() for x in p]
    c = z[0].T @ z[1] / 8
    on = sum((1 - c[j, j]) ** 2 for j in range(5))
    off = sum(c[j, k] ** 2 for j in range(5) for k in range(5) if j != k)
    torch.testing.assert_close(terms["invariance"], 0.3 * on)
    torch.testing.assert_close(terms["redundancy"], 0.3 * 0.2 * off)
    torch.testing.assert_close(terms["self_contrast"], self_contrast(*VIEWS))


def test_printed_form_has_the_printed_sign() -> None:
    assert scd(form="printed").terms(VIEWS, NO_BATCH)["invariance"] < 0
    assert scd(form="standard").terms(VIEWS, NO_BATCH)["invariance"] > 0


def test_temperature_divides_the_self_contrast_alone() -> None:
    warm, cold = (scd(temperature=t).terms(VIEWS, NO_BATCH) for t in (1.0, 0.05))
    torch.testing.assert_close(cold["self_contrast"], warm["self_contrast"] * 20)
    assert cold["redundancy"] == warm["redundancy"]


def test_batch_twice_as_large_has_the_same_loss() -> None:
    """BatchNorm and every mean see the same distribution, so no term may grow."""
    twice = tuple(torch.cat([view, view]) for view in VIEWS)
    once_terms, twice_terms = scd().terms(VIEWS, NO_BATCH), scd().terms(twice, NO_BATCH)
    for name, value in once_terms.items():
        torch.testing.assert_close(twice_terms[name], value, rtol=1e-4, atol=1e-6)


def test_projector_is_the_papers() -> None:
    kinds = [type(layer).__name__ for layer in scd().projector]
    assert kinds == ["Linear", "BatchNorm1d", "ReLU", "Linear", "BatchNorm1d", "ReLU", "Linear"]


def test_two_views_without_dropout_are_refused() -> None:
    with pytest.raises(ValueError, match="both 0"):
        SCDConfig(r_a=0, r_b=0)
