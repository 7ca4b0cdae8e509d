"""Common runs beside plain dynamic programming over every pair of units."""

from __future__ import annotations

import random
from itertools import accumulate, pairwise

import numpy as np
import pytest

from embedsearch.data.overlap import every_pair, last_partners, overlaps
from embedsearch.data.units import Units, Weights, take_apart

LETTERS = {
    "latin": ["a ", "bb ", "ccc ", "of ", "the "],
    "han": list("天地人水的是"),
    "mixed": ["天", "地", "的", "river ", "of ", "7 ", "Tower, "],
}


def naive(units: Units, first: int, second: int) -> int:
    """The weight of the heaviest common run, from the definition: O(n²) for each pair."""
    one, other = (
        [
            (units.texts[n], int(units.weights[n]))
            for n in range(units.bounds[sentence], units.bounds[sentence + 1])
            if units.weights[n]
        ]
        for sentence in (first, second)
    )
    heaviest, above = 0, [0] * (len(other) + 1)
    for text, weight in one:
        row = [0] * (len(other) + 1)
        for place, (there, _) in enumerate(other, start=1):
            row[place] = above[place - 1] + weight if there == text else 0
        heaviest, above = max(heaviest, *row), row
    return heaviest


@pytest.mark.parametrize("block", [1, 50, 10**6])
@pytest.mark.parametrize("script", LETTERS)
def test_as_by_dynamic_programming(script: str, block: int) -> None:
    rng = random.Random(script)
    for _ in range(30):
        sizes = [rng.randint(1, 7) for _ in range(rng.randint(0, 4))]
        sentences = [
            "".join(rng.choices(LETTERS[script], k=rng.randint(0, 12))) for _ in range(sum(sizes))
        ]
        units = take_apart(sentences, Weights())
        reach, least = rng.randint(1, 5), rng.choice([1, 1000, 2000])
        starts = [0, *accumulate(sizes)]
        expected = []
        for start, stop in pairwise(starts):
            for first in range(start, stop):
                end = stop if first == start else min(stop, first + reach + 1)
                for second in range(first + 1, end):
                    weight = naive(units, first, second)
                    if weight >= least:
                        expected.append((first, second, weight))
        last = last_partners(np.array(starts), reach)
        found = overlaps(units, last, least, block)
        assert list(zip(*(column.tolist() for column in found), strict=True)) == expected
        every = every_pair(last)
        pairs = [(i, j) for i, end in enumerate(last.tolist()) for j in range(i + 1, end + 1)]
        assert list(zip(every.first.tolist(), every.second.tolist(), strict=True)) == pairs


def test_the_heaviest_and_not_the_longest() -> None:
    units = take_apart(["1 2 3 4 5, river Tiber", "Tiber. River Tiber 1 2 3 4 5"], Weights())
    found = overlaps(units, np.array([1, 1]), 1)
    assert found.weight.tolist() == [10 * 300]


def test_more_units_than_sixteen_bits_can_number() -> None:
    words = " ".join(f"w{n}" for n in range(70_000))
    found = overlaps(take_apart([words, "w69999 w3"], Weights()), np.array([1, 1]), 1)
    assert found.weight.tolist() == [300 + 5 * 100]
