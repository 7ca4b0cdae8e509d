"""Finding what sentences have in common beside a suffix automaton, which finds the same."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, chain
from statistics import median
from typing import TypeVar

import numpy as np

from embedsearch.data.documents import Document, open_documents
from embedsearch.data.mining import Mining
from embedsearch.data.overlap import last_partners, overlaps
from embedsearch.data.pair_stream import chunks, mine
from embedsearch.data.units import GRAIN, Integers, Units, take_apart
from experiments.benchmarks.automaton import Automaton
from experiments.benchmarks.row import Inputs, Row

Found = list[tuple[int, int, int]]
"""Two sentences and the weight of their heaviest common run."""

Result = TypeVar("Result")


def rows(inputs: Inputs) -> Iterator[Row]:
    """Processor seconds for the overlaps of all pairs of sentences; then for mining as a whole.

    Both sides are given the same units. The peer is pure Python: one automaton a sentence, of its
    characters. ``AssertionError`` where they differ.
    """
    mining = Mining()
    least = round(GRAIN * mining.short_overlap)
    documents = list(open_documents(inputs.documents))
    parts = [_part(chunk, mining) for chunk in chunks(documents)]
    ours, ours_s = _timed(
        lambda: [list(zip(*map(_listed, overlaps(*part, least)), strict=True)) for part in parts],
        inputs.repeats,
    )
    theirs, theirs_s = _timed(lambda: [_by_automaton(*part, least) for part in parts])
    assert ours == theirs, "the two find different pairs"
    pairs = sum(map(len, ours))
    yield Row(
        f"overlaps in {len(documents):,} documents ({pairs:,} pairs, the same on both sides)",
        f"{ours_s:.3f} s",
        f"{theirs_s:.2f} s by automaton",
        f"{theirs_s / ours_s:.0f}x",
        "50x",
    )
    mined, whole_s = _timed(lambda: list(mine(documents, mining, seed=0)))
    total = len(list(chain.from_iterable(found for found, _ in mined)))
    rest_s = whole_s - ours_s
    yield Row(
        f"all of mining, {total:,} pairs and titles, one process",
        f"{whole_s:.2f} s",
        f"{rest_s + theirs_s:.2f} s with the automaton in it",
        f"{(rest_s + theirs_s) / whole_s:.1f}x",
        "",
    )


def _part(documents: Sequence[Document], mining: Mining) -> tuple[Units, Integers]:
    sentences = [document.sentences for document in documents]
    starts = np.array([0, *accumulate(map(len, sentences))])
    units = take_apart(list(chain.from_iterable(sentences)), mining.weights)
    return units, last_partners(starts, mining.reach)


def _listed(column: Integers) -> list[int]:
    numbers: list[int] = column.tolist()
    return numbers


def _timed(work: Callable[[], Result], repeats: int = 1) -> tuple[Result, float]:
    seconds = []
    for _ in range(repeats):
        begun = time.process_time()
        result = work()
        seconds.append(time.process_time() - begun)
    return result, median(seconds)


def _by_automaton(units: Units, last: Integers, least: int) -> Found:
    sentences = [_heavy(units, sentence) for sentence in range(len(last))]
    found = []
    for first, stop in enumerate(last.tolist()):
        if first == stop:
            continue
        automaton = Automaton(sentences[first][0])
        for second in range(first + 1, stop + 1):
            weight = automaton.heaviest(*sentences[second])
            if weight >= least:
                found.append((first, second, weight))
    return found


def _heavy(units: Units, sentence: int) -> tuple[str, list[int]]:
    """The sentence's units that weigh something, and what it weighs up to each."""
    inside = range(units.bounds[sentence], units.bounds[sentence + 1])
    heavy = [(units.texts[n], int(units.weights[n])) for n in inside if units.weights[n]]
    text = " ".join(["", *(text for text, _ in heavy), ""])
    return text, list(accumulate((weight for _, weight in heavy), initial=0))
