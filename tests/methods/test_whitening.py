"""Whitening: mean zero, covariance one, and a projection that stays with the encoder."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from embedsearch import trial
from embedsearch.encoder.backbone import describe
from embedsearch.encoder.model import Encoder
from embedsearch.errors import UserError
from embedsearch.methods.whitening import Whitening, WhiteningConfig, whitening
from embedsearch.place import Place
from embedsearch.records import Point, Status

Make = Callable[..., Any]


def sums(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, int]:
    return x.sum(0), x.T @ x, len(x)


def test_by_hand() -> None:
    """Variances 4 and 1 along the axes, mean (1, 0): halve the first after moving it."""
    x = torch.tensor([[3.0, 1.0], [-1.0, 1.0], [3.0, -1.0], [-1.0, -1.0]], dtype=torch.float64)
    weight, bias = whitening(*sums(x))
    assert (x @ weight.T + bias)[0].abs().tolist() == pytest.approx([1, 1])
    assert weight[0].abs().tolist() == pytest.approx([0.5, 0])
    assert weight[1].abs().tolist() == pytest.approx([0, 1])


def test_result_has_mean_zero_and_covariance_one() -> None:
    torch.manual_seed(0)
    x = (torch.randn(500, 6) @ torch.randn(6, 6) + 3).double()
    weight, bias = whitening(*sums(x))
    white = x @ weight.T + bias
    torch.testing.assert_close(white.mean(0), torch.zeros(6).double(), atol=1e-9, rtol=0)
    torch.testing.assert_close(white.T @ white / 500, torch.eye(6).double(), atol=1e-8, rtol=0)
    kept = x @ weight[:3].T
    assert kept.var() > 0 and weight[:3].norm(dim=1).argsort().tolist() == [0, 1, 2]


def test_a_direction_without_variance_is_dropped() -> None:
    x = torch.randn(50, 3).double()
    x[:, 2] = x[:, 0]
    weight, bias = whitening(*sums(x))
    white = x @ weight.T + bias
    assert torch.isfinite(white).all() and white[:, 2].abs().max() < 1e-6


def test_the_embedding_is_turned_and_stays_so(make_backbone: Make) -> None:
    encoder = Encoder.load(str(make_backbone("bert")), "mean").eval()
    ids = torch.randint(10, 500, (64, 9), generator=torch.Generator().manual_seed(2))
    batch = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    before = encoder.encode(batch)
    method = Whitening(WhiteningConfig(batch_size=64, sentences=64, dims=5), encoder)
    with torch.no_grad():
        method.fit(encoder, lambda _: batch)
    after = encoder.encode(batch)
    assert after.shape == (64, 5) and encoder.dim == 5 and before.shape[1] == 32
    torch.testing.assert_close(after.mean(0), torch.zeros(5), atol=1e-4, rtol=0)
    torch.testing.assert_close(after.T @ after / 64, torch.eye(5), atol=1e-3, rtol=0)


def test_a_trial_is_one_fit(make_setting: Make, tmp_path: Path) -> None:
    values = WhiteningConfig(batch_size=8, sentences=40, pooling="mean", dims=4).values()
    point = Point("whitening", "embedsearch.methods.whitening:Whitening", values)
    spec = make_setting().spec(point)
    assert spec.total_steps == 1 and spec.corpus.fingerprint
    result = trial.run(spec, Place(tmp_path / "storage"), lambda _: None)
    assert result.status is Status.FINISHED, result.reason
    assert (result.best_step, [m.step for m in result.history]) == (1, [0, 1])
    assert result.start_score == result.history[0].metrics["dev/spearman"]
    assert result.best_score == result.history[1].metrics["dev/spearman"]
    assert result.checkpoint and (Path(result.checkpoint) / "2_Dense").is_dir()


def test_too_few_sentences_are_refused(make_backbone: Make) -> None:
    facts = describe(str(make_backbone("bert")))
    with pytest.raises(UserError, match="sentences=32"):
        Whitening.check(WhiteningConfig(sentences=32), facts)
    with pytest.raises(UserError, match="dims=33"):
        Whitening.check(WhiteningConfig(dims=33), facts)
