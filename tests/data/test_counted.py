"""One of something, and several."""

from __future__ import annotations

import pytest

from embedsearch.data.counted import counted


@pytest.mark.parametrize(
    ("count", "noun", "said"),
    [
        (1, "test text", "1 test text"),
        (0, "zero vector", "0 zero vectors"),
        (2000, "pair", "2,000 pairs"),
        (3, "query", "3 queries"),
        (2, "class", "2 classes"),
        (1, "class", "1 class"),
    ],
)
def test_one_and_several(count: int, noun: str, said: str) -> None:
    assert counted(count, noun) == said
