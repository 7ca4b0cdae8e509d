"""Terms of a text, and BM25 by its formula."""

from __future__ import annotations

import math

import numpy as np

from embedsearch.evaluation.lexical import BM25, K1, B, terms

DOCUMENTS = ["the heat of slabs", "heat heat flow", "wing loads", "", "\u200b 😀"]


def test_terms() -> None:
    assert terms("The Mach-5 flow, a b c; of 10 WINGS") == ["mach", "flow", "10", "wings"]
    assert terms("长江in春天") == ["长", "江", "春", "天"]
    assert terms("雨 rain") == ["雨", "rain"]
    assert terms(" \u200b😀") == []


def test_scores_are_the_formula() -> None:
    scores = BM25(DOCUMENTS).scores(["heat of wing", "", "unknown words"])
    lengths = [len(terms(text)) for text in DOCUMENTS]
    mean = sum(lengths) / len(lengths)

    def weight(term: str, row: int) -> float:
        count = terms(DOCUMENTS[row]).count(term)
        having = sum(term in terms(text) for text in DOCUMENTS)
        idf = math.log(1 + (len(DOCUMENTS) - having + 0.5) / (having + 0.5))
        return idf * count / (count + K1 * (1 - B + B * lengths[row] / mean))

    expected = [weight("heat", row) + weight("wing", row) for row in range(5)]
    np.testing.assert_allclose(scores[0], expected, rtol=1e-5)
    assert not scores[1:].any()


def test_nothing_to_search() -> None:
    assert BM25(["", "a"]).scores(["heat"]).tolist() == [[0, 0]]
