"""Batches of pairs: every pair once an epoch, at its length, the same however a step is reached."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from embedsearch.data.documents import Document, Documents
from embedsearch.data.mining import Mining
from embedsearch.data.pair_batches import (
    DOCUMENT,
    PROMPT,
    SECOND,
    SENTENCE,
    TITLE,
    PairBatches,
    Pairing,
    PairOrder,
)
from embedsearch.data.pair_corpus import MinedPairs, mine_pairs
from embedsearch.encoder.backbone import locate
from embedsearch.encoder.tokenizer import load_tokenizer
from embedsearch.errors import UserError

NAMES = [f"{first}{second}" for first in ("nor", "sel", "tam") for second in ("wick", "by", "ford")]
WORDS = ["river", "bridge", "market", "winter", "teacher", "garden"]
WORDS += ["engine", "paper", "music", "harbour", "valley", "castle"]
TALE = " ".join(f"and then the {word} of the old {other}" for word in WORDS for other in WORDS[:3])


def documents() -> Documents:
    """Towns, each with short sentences about it, and two long ones."""
    made = [
        Document(
            name,
            f"{name} lies by the sea. Nobody from {name} went there. We saw {name} at night. "
            f"They say that {name} burned {TALE}. {TALE} near {name} they say. {name}海边小镇。",
        )
        for name in NAMES
    ]
    return Documents("towns", "towns", lambda: iter(made))


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module")
def mined(cache: Path) -> MinedPairs:
    pairs = mine_pairs(documents(), Mining(), cache=cache)
    assert (len(pairs.short), len(pairs.long), len(pairs.titles)) == (24, 27, 9)
    return pairs


def pairing(batch_size: int = 8, title_share: float = 0.25) -> Pairing:
    return Pairing(Mining(), batch_size, title_share)


def test_an_epoch_has_every_whole_batch_of_both_buckets(mined: MinedPairs) -> None:
    order = PairOrder(mined, pairing(), seed=0)
    assert order.steps_per_epoch == 24 // 8 + 27 // 2
    orders = set()
    for epoch in range(4):
        steps = [order.pairs(epoch * 16 + step) for step in range(16)]
        assert Counter(bucket for bucket, _ in steps) == {0: 3, 1: 13}
        assert {len(rows) for bucket, rows in steps if bucket == 0} == {8}
        for bucket, most in ((0, 24), (1, 26)):
            rows = np.concatenate([rows for found, rows in steps if found == bucket])
            assert len(set(rows.tolist())) == most
        orders.add(tuple(bucket for bucket, _ in steps))
    assert len(orders) > 1


def test_a_step_is_the_same_in_whatever_order_it_is_asked_for(mined: MinedPairs) -> None:
    def seen(steps: list[int], seed: int = 0) -> dict[int, list[Any]]:
        order = PairOrder(mined, pairing(), seed)
        found = {step: order.pairs(step) for step in steps}
        return {
            step: [bucket, rows.tolist(), order.title_rows(step, len(rows)).tolist()]
            for step, (bucket, rows) in found.items()
        }

    there, back = list(range(50)), list(reversed(range(50)))
    assert seen(there) == seen(back)
    assert seen(there) != seen(there, seed=1)


def test_titles_are_a_share_of_the_pairs_and_one_at_least(mined: MinedPairs) -> None:
    order = PairOrder(mined, pairing(), seed=0)
    assert [len(order.title_rows(0, pairs)) for pairs in (1, 8, 16, 100)] == [1, 2, 4, 9]
    assert len(set(order.title_rows(0, 100).tolist())) == 9
    assert len(PairOrder(mined, pairing(title_share=0), seed=0).title_rows(0, 8)) == 0


def test_a_batch_is_what_the_tokenizer_gives(mined: MinedPairs, cache: Path) -> None:
    tokenizer = load_tokenizer(str(locate("nano-t5")))
    batches = PairBatches(mined, pairing(), tokenizer, 0, cache=cache)

    def tokens(texts: list[str], length: int) -> dict[str, torch.Tensor]:
        return dict(tokenizer(
            texts, truncation=True, max_length=length, padding=True, return_tensors="pt"
        ))  # fmt: skip

    for step in range(8):
        bucket, rows = batches.order.pairs(step)
        pairs = (mined.short, mined.long)[bucket][rows]
        titles = mined.titles[batches.order.title_rows(step, len(rows))]
        length = (32, 128)[bucket]
        wanted = {
            "": tokens([first for first, _ in pairs], length),
            SECOND: tokens([second for _, second in pairs], length),
            DOCUMENT: tokens([PROMPT + document for document, _ in titles], 128),
            TITLE: tokens([title for _, title in titles], 32),
        }
        batch = batches.batch(step)
        assert len(batch) == 10
        for prefix, parts in wanted.items():
            for name, value in parts.items():
                assert torch.equal(batch[prefix + name], value), (step, prefix)
        ends = batch["input_ids"].gather(1, batch["attention_mask"].sum(1, keepdim=True) - 1)
        assert (ends == tokenizer.eos_token_id).all(), "cut texts end, too"


def test_without_titles_nothing_of_them_is_made(mined: MinedPairs, cache: Path) -> None:
    tokenizer = load_tokenizer(str(locate("nano-t5")))
    batch = PairBatches(mined, pairing(title_share=0), tokenizer, 0, cache=cache).batch(0)
    names = ("attention_mask", "input_ids", SENTENCE)
    assert sorted(batch) == sorted(prefix + name for prefix in ("", SECOND) for name in names)


def test_crops_of_a_sentence_have_its_number(mined: MinedPairs, cache: Path) -> None:
    """Other texts in two of its pairs, and one number in every batch that has it."""
    tokenizer = load_tokenizer(str(locate("nano-t5")))
    batches = PairBatches(mined, pairing(), tokenizer, 0, cache=cache)
    texts: dict[int, set[str]] = {}
    for step in range(16):
        bucket, rows = batches.order.pairs(step)
        batch = batches.batch(step)
        numbers = zip(batch[SENTENCE].tolist(), batch[SECOND + SENTENCE].tolist(), strict=True)
        for pair, told in zip((mined.short, mined.long)[bucket][rows], numbers, strict=True):
            for text, number in zip(pair, told, strict=True):
                texts.setdefault(number, set()).add(text)
    crops = [found for found in texts.values() if len(found) > 1]
    assert crops and all("old" in text for found in crops for text in found)
    whole = [text for found in texts.values() if len(found) == 1 for text in found]
    assert len(set(whole)) == len(whole)


def test_a_bucket_that_fills_no_batch_is_left_out(mined: MinedPairs) -> None:
    order = PairOrder(mined, pairing(batch_size=36), seed=0)
    assert order.steps_per_epoch == 3
    assert [order.pairs(step)[0] for step in range(5)] == [1] * 5


def test_too_few_pairs_for_any_batch(mined: MinedPairs) -> None:
    wanted = "'towns' make 24 short pairs and 27 long ones, and a batch takes 128 or 32"
    with pytest.raises(UserError, match=wanted):
        PairOrder(mined, pairing(batch_size=128), seed=0)


def test_no_batch_of_one() -> None:
    """A pair alone has no negatives: a quarter of a small batch is two."""
    sizes = [pairing(batch_size=size).batch_sizes for size in (2, 8, 64)]
    assert sizes == [(2, 2), (8, 2), (64, 16)]
