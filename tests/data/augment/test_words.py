"""Words: what one is, in any script, and how many a rate changes."""

from random import Random

import pytest

from embedsearch.data.augment.words import Words, changed, draw, dressed


@pytest.mark.parametrize(
    ("sentence", "words"),
    [
        ("“Don’t go”, she said — twice.", ["Don’t", "go", "she", "said", "twice"]),
        ("A well-known fee of $5.00 (net)", ["A", "well-known", "fee", "of", "5.00", "net"]),
        ("我用Python写。", ["我", "用", "Python", "写"]),
        ("हिन्दी में", ["हिन्दी", "में"]),
        ("Cafe\u0301 au lait", ["Cafe\u0301", "au", "lait"]),
        ("🙂 ❤️ … — 1 👍", ["1"]),
        ("?!", []),
        ("", []),
    ],
)
def test_a_word_is_between_spaces_without_punctuation(sentence: str, words: list[str]) -> None:
    parts = Words.of(sentence)
    assert parts.words == words and len(parts) == len(words)
    assert str(parts) == sentence
    for word, start in zip(words, parts.starts(), strict=True):
        assert sentence[start:].startswith(word)


@pytest.mark.parametrize(
    ("rate", "words", "count"),
    [(0.05, 1, 1), (0.05, 10, 1), (0.1, 10, 1), (0.1, 15, 2), (0.2, 12, 2), (0.2, 13, 3),
     (0.05, 100, 5), (0.29, 100, 29), (0.99, 3, 3)],
)  # fmt: skip
def test_a_rate_changes_the_nearest_number_and_at_least_one(
    rate: float, words: int, count: int
) -> None:
    assert changed(rate, words) == count


@pytest.mark.parametrize("rate", [0.05, 0.1, 0.2])
def test_over_long_sentences_the_rate_holds(rate: float) -> None:
    lengths = range(20, 220)
    share = sum(changed(rate, n) for n in lengths) / sum(lengths)
    assert share == pytest.approx(rate, rel=0.01)


def test_every_place_is_drawn_alike() -> None:
    drawn = [draw(range(5), 2, Random(seed)) for seed in range(2_000)]
    assert all(places == sorted(set(places)) and len(places) == 2 for places in drawn)
    for place in range(5):
        assert sum(place in places for places in drawn) == pytest.approx(800, abs=100)
    assert draw([3, 7], 5, Random(0)) == [3, 7]
    assert draw([], 1, Random(0)) == []


def test_a_capital_is_kept() -> None:
    assert dressed("stone", like="River") == "Stone"
    assert dressed("USA", like="River") == "USA"
    assert dressed("stone", like="river") == "stone"
