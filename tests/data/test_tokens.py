"""Tokens: what the tokenizer gives, once, in whatever batch."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast

from embedsearch.data.corpus import Corpus, open_corpus
from embedsearch.data.tokens import tokenise, tokenizer_fingerprint
from embedsearch.errors import UserError

WORDS = ["the", "cat", "sat", "on", "a", "mat", "in", "rain"]


def make_tokenizer(words: list[str] = WORDS) -> Any:
    vocabulary = {word: n for n, word in enumerate(["[UNK]", "[CLS]", "[SEP]", "[PAD]", *words])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
    )
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token="[PAD]")


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    random = np.random.default_rng(0)
    lines = [" ".join(random.choice(WORDS, random.integers(1, 12))) for _ in range(2_500)]
    (tmp_path / "corpus.txt").write_text("\n".join(lines))
    return open_corpus(tmp_path / "corpus.txt", cache=tmp_path / "cache")


def test_a_batch_is_what_the_tokenizer_gives(corpus: Corpus, tmp_path: Path) -> None:
    tokenizer = make_tokenizer()
    tokens = tokenise(corpus, tokenizer, 8, cache=tmp_path / "cache")
    assert len(tokens) == len(corpus) == 2_500
    for rows in (np.arange(64), np.array([2_499, 0, 1_000, 999, 0]), np.array([7])):
        expected = tokenizer(
            corpus[rows.tolist()], truncation=True, max_length=8, padding=True, return_tensors="pt"
        )
        batch = tokens.batch(rows)
        assert sorted(batch) == ["attention_mask", "input_ids"]
        for name, value in batch.items():
            assert value.dtype == torch.int64
            torch.testing.assert_close(value, expected[name])


def test_it_is_made_once(corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = tmp_path / "cache"
    tokenizer = make_tokenizer()
    first = tokenise(corpus, tokenizer, 8, cache=cache)
    tokenizer("x", truncation=True, max_length=3, padding="max_length")
    monkeypatch.setattr("embedsearch.data.tokens._write", None)
    again = tokenise(corpus, tokenizer, 8, cache=cache)
    assert np.array_equal(first.ids, again.ids)
    with pytest.raises(TypeError):
        tokenise(corpus, tokenizer, 9, cache=cache)


def test_fingerprint_of_a_tokenizer() -> None:
    same, other = make_tokenizer(), make_tokenizer([*WORDS, "dog"])
    assert tokenizer_fingerprint(make_tokenizer()) == tokenizer_fingerprint(same)
    assert tokenizer_fingerprint(same) != tokenizer_fingerprint(other)
    other = make_tokenizer()
    other.pad_token = "[UNK]"
    assert tokenizer_fingerprint(same) != tokenizer_fingerprint(other)


def test_a_tokenizer_that_is_not_fast_is_refused() -> None:
    with pytest.raises(UserError, match="SimpleNamespace of some/model has no fast form"):
        tokenizer_fingerprint(SimpleNamespace(name_or_path="some/model"))


def _total(folder: Path) -> int:
    corpus = open_corpus(folder / "corpus.txt", cache=folder / "cache")
    return int(tokenise(corpus, make_tokenizer(), 8, cache=folder / "cache").ids.sum())


@pytest.mark.usefixtures("corpus")
def test_several_at_once(tmp_path: Path) -> None:
    with ThreadPoolExecutor(2) as pool:
        totals = list(pool.map(_total, [tmp_path] * 2))
    assert totals == [_total(tmp_path)] * 2


def test_killed_while_writing(
    corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("embedsearch.data.tokens.np.save", die)
        with pytest.raises(KeyboardInterrupt):
            tokenise(corpus, make_tokenizer(), 8, cache=tmp_path / "cache")
    assert len(tokenise(corpus, make_tokenizer(), 8, cache=tmp_path / "cache")) == 2_500
