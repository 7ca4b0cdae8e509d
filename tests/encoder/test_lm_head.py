"""Masking by the standard, and the head on the backbone's own words."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch.nn import functional as F

from embedsearch.encoder.lm_head import HAVE_HEADS, MaskedLMHead, lm_losses, mask_tokens
from embedsearch.encoder.model import Encoder

Make = Callable[..., Path]


@pytest.fixture(params=HAVE_HEADS)
def encoder(request: pytest.FixtureRequest, make_backbone: Make) -> Encoder:
    return Encoder.load(str(make_backbone(request.param)), "mean")


def batch_of(encoder: Encoder, rows: int, tokens: int = 12) -> dict[str, torch.Tensor]:
    torch.manual_seed(1)
    special = encoder.tokenizer
    ids = torch.randint(20, 400, (rows, tokens))
    ids[:, 0], ids[:, -1] = special.cls_token_id, special.sep_token_id
    mask = torch.ones_like(ids)
    ids[0, 6:], mask[0, 6:] = special.pad_token_id, 0
    return {"input_ids": ids, "attention_mask": mask}


def test_masking_is_the_standard(make_backbone: Make) -> None:
    encoder = Encoder.load(str(make_backbone("bert")), "mean")
    batch = batch_of(encoder, 5_000)
    masked = mask_tokens(batch["input_ids"], batch["attention_mask"], encoder.tokenizer)
    ordinary = torch.zeros_like(masked.chosen)
    ordinary[:, 1:-1] = True
    ordinary[0, 6:] = False
    special = torch.isin(batch["input_ids"], torch.tensor(encoder.tokenizer.all_special_ids))
    ordinary &= ~special
    assert not masked.chosen[~ordinary].any()
    assert masked.chosen[ordinary].float().mean().item() == pytest.approx(0.15, abs=0.01)
    before, after = batch["input_ids"][masked.chosen], masked.input_ids[masked.chosen]
    hidden = after == encoder.tokenizer.mask_token_id
    assert hidden.float().mean().item() == pytest.approx(0.8, abs=0.03)
    assert (after == before).float().mean().item() == pytest.approx(0.1, abs=0.03)
    assert torch.equal(batch["input_ids"][~masked.chosen], masked.input_ids[~masked.chosen])


def test_head_is_that_of_the_library(encoder: Encoder, tmp_path: Path) -> None:
    """The same logits as the masked language model that transformers saved in the folder."""
    from transformers import AutoConfig, AutoModelForMaskedLM

    config = AutoConfig.from_pretrained(encoder.facts.location)
    whole = AutoModelForMaskedLM.from_config(config).eval()
    for parameter in whole.parameters():
        torch.nn.init.normal_(parameter, std=0.1)
    whole.save_pretrained(tmp_path)
    encoder.tokenizer.save_pretrained(tmp_path)
    loaded = Encoder.load(str(tmp_path), "mean").eval()
    batch, head = batch_of(loaded, 3), MaskedLMHead(loaded)
    words = loaded.transformer.get_input_embeddings().weight
    logits = head(loaded.states(batch), words)
    torch.testing.assert_close(logits, whole(**batch).logits, rtol=1e-4, atol=1e-4)


def test_losses_are_those_of_the_hidden_tokens(encoder: Encoder) -> None:
    encoder.eval()
    batch, head = batch_of(encoder, 6), MaskedLMHead(encoder)
    words = encoder.transformer.get_input_embeddings().weight
    torch.manual_seed(9)
    losses = lm_losses(encoder, head, batch)
    torch.manual_seed(9)
    masked = mask_tokens(batch["input_ids"], batch["attention_mask"], encoder.tokenizer)
    logits = head(encoder.states({**batch, "input_ids": masked.input_ids}), words)
    for row, (total, count) in enumerate(losses):
        chosen = masked.chosen[row]
        wanted = F.cross_entropy(logits[row][chosen], batch["input_ids"][row][chosen],
                                 reduction="sum")  # fmt: skip
        assert count.item() == int(chosen.sum())
        torch.testing.assert_close(total, wanted)


def test_words_learn_from_both_ends(encoder: Encoder) -> None:
    """The embeddings get the gradient of a tied output matrix: words that are nowhere in the batch
    move, too."""
    encoder.train()
    batch, head = batch_of(encoder, 6), MaskedLMHead(encoder)
    lm_losses(encoder, head, batch)[:, 0].sum().backward()
    words = encoder.transformer.get_input_embeddings().weight
    absent = torch.ones(len(words), dtype=torch.bool)
    absent[batch["input_ids"].unique()] = False
    assert words.grad is not None and (words.grad[absent].abs().sum(1) > 0).float().mean() > 0.9
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in head.parameters())
