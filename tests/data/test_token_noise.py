"""What is deleted or cropped, and what always stays."""

import pytest
import torch
from torch import Tensor

from embedsearch.data.token_noise import crop_tokens, delete_tokens

SPECIAL = torch.tensor([0, 1, 2])
"""[PAD], [CLS] and [SEP]."""


def batch(rows: int = 400) -> dict[str, Tensor]:
    """Sentences of 1 to 20 tokens, each token its own number, between [CLS] and [SEP]."""
    lengths = [1 + row % 20 for row in range(rows)]
    ids = torch.zeros(rows, 22, dtype=torch.long)
    for row, length in enumerate(lengths):
        ids[row, : length + 2] = torch.tensor([1, *range(100, 100 + length), 2])
    return {"input_ids": ids, "attention_mask": (ids != 0).long()}


def sentences(noisy: dict[str, Tensor]) -> list[list[int]]:
    rows = []
    for ids, mask in zip(noisy["input_ids"], noisy["attention_mask"], strict=True):
        length = int(mask.sum())
        assert mask[:length].all() and not mask[length:].any(), "padding is behind the sentence"
        found = ids[:length].tolist()
        assert found[0] == 1 and found[-1] == 2, "special tokens stay where they were"
        rows.append(found[1:-1])
    return rows


@pytest.mark.parametrize("rate", [0.0, 0.2, 0.6, 1.0])
def test_deletion_keeps_order_and_one_at_least(rate: float) -> None:
    torch.manual_seed(0)
    found = sentences(delete_tokens(batch(), rate, SPECIAL))
    for row, kept in enumerate(found):
        assert kept == sorted(set(kept)) and set(kept) <= set(range(100, 101 + row % 20))
        assert kept
    long = [len(kept) / 20 for kept in found[19::20]]
    assert sum(long) / len(long) == pytest.approx(max(1 - rate, 1 / 20), abs=0.08)


def test_a_crop_is_a_run_of_its_share() -> None:
    torch.manual_seed(0)
    lengths = set()
    for row, kept in enumerate(sentences(crop_tokens(batch(), 0.3, 0.7, SPECIAL))):
        whole = 1 + row % 20
        assert kept == list(range(kept[0], kept[0] + len(kept))), "a run"
        assert max(1, round(0.3 * whole - 0.5)) <= len(kept) <= round(0.7 * whole + 0.5)
        if whole == 20:
            lengths.add((len(kept), kept[0]))
    assert len({n for n, _ in lengths}) > 4 and len({start for _, start in lengths}) > 4


def test_a_whole_crop_is_the_sentence() -> None:
    whole = batch(20)
    cropped = crop_tokens(whole, 1.0, 1.0, SPECIAL)
    assert torch.equal(cropped["input_ids"], whole["input_ids"])
    assert torch.equal(cropped["attention_mask"], whole["attention_mask"])


def test_noise_follows_the_seed() -> None:
    for noise in (lambda: delete_tokens(batch(), 0.5, SPECIAL),
                  lambda: crop_tokens(batch(), 0.3, 0.7, SPECIAL)):  # fmt: skip
        torch.manual_seed(4)
        first = noise()["input_ids"]
        second = noise()["input_ids"]
        torch.manual_seed(4)
        assert torch.equal(noise()["input_ids"], first)
        assert first.shape != second.shape or not torch.equal(first, second)
