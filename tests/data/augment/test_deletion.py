"""Deletion: as many words as the rate says go, in order, and never all."""

from random import Random

import pytest

from embedsearch.data.augment.deletion import delete
from embedsearch.data.augment.words import Words


@pytest.mark.parametrize(("rate", "left"), [(0.05, 19), (0.1, 18), (0.2, 16), (0.99, 1)])
def test_the_rates_words_go_and_the_others_keep_their_order(rate: float, left: int) -> None:
    words = [f"w{i}" for i in range(20)]
    for seed in range(50):
        kept = delete(" ".join(words), rate, Random(seed)).split(" ")
        assert len(kept) == left
        assert kept == [word for word in words if word in kept]


@pytest.mark.parametrize("sentence", ["Stop!", "🙂🙂", "?", "猫"])
def test_one_word_or_none_stays(sentence: str) -> None:
    assert delete(sentence, 0.5, Random(0)) == sentence


def test_two_words_leave_either() -> None:
    kept = {delete("Hello, world!", 0.9, Random(seed)) for seed in range(40)}
    assert kept == {", world!", "Hello,!"}


def test_a_word_takes_its_space_along() -> None:
    kept = {delete("cat sat, here", 0.1, Random(seed)) for seed in range(60)}
    assert kept == {"sat, here", "cat, here", "cat sat,"}


def test_han_characters_go_one_by_one() -> None:
    sentence = "今天天气很好，我们去公园。"
    shorter = delete(sentence, 0.2, Random(1))
    assert len(Words.of(sentence)) - len(Words.of(shorter)) == 2
    assert "，" in shorter and shorter.endswith("。") and " " not in shorter
