"""The heaviest run of units that two sentences have in common, for all pairs at once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from embedsearch.data.units import Integers, Units

_BLOCK = 1_000_000
"""Matches looked at together: some 50 MB."""


class Overlaps(NamedTuple):
    """Pairs of sentences in order, each (pairs,)."""

    first: Integers
    second: Integers
    weight: Integers
    """Of the heaviest common run, in thousandths."""


def last_partners(starts: Integers, reach: int) -> Integers:
    """The last sentence that each is compared with: (sentences,).

    That is the last of its document for a title, and at most ``reach`` further on for the others.
    ``starts`` are the numbers of the titles, and one more: (documents + 1,).
    """
    titles, end = starts[:-1], np.repeat(starts[1:] - 1, np.diff(starts))
    last = np.minimum(np.arange(len(end)) + reach, end)
    last[titles] = end[titles]
    return last


def overlaps(units: Units, last: Integers, least: int, block: int = _BLOCK) -> Overlaps:
    """Which sentences share a run of units that weighs at least ``least`` (> 0) thousandths.

    Sentence ``i`` is compared with ``i + 1`` to ``last[i]`` (as of ``last_partners``). Glue is
    passed over: a run is one of units that weigh something. It is the heaviest run, not the longest
    weighed afterwards (as in the public code): a threshold asks for weight, and a longer but
    lighter run would hide a heavier one.

    No suffix structure is needed: equal units are matched by one sort, and the matches that follow
    each other on a diagonal are the common runs. Time goes with the number of matches, which
    ``last`` keeps linear in the text; ``block`` of them (or one sentence's) are held at once.
    """
    heavy = np.flatnonzero(units.weights)
    ids, sentences = units.ids[heavy], units.sentences[heavy]
    place = np.arange(len(heavy)) + sentences  # a gap between sentences ends every run
    weight_at = np.zeros(len(heavy) + len(last), dtype=np.int64)
    sentence_at = np.zeros_like(weight_at)
    weight_at[place], sentence_at[place] = units.weights[heavy], sentences
    found = [
        _runs(p, q, weight_at, sentence_at, least)
        for p, q in _matches(ids, sentences, place, last, block)
    ]
    none = np.empty(0, dtype=np.int64)
    first, second, weight = map(np.concatenate, zip((none,) * 3, *found, strict=True))
    order = np.lexsort((-weight, second, first))
    first, second, weight = first[order], second[order], weight[order]
    heaviest = (np.diff(first, prepend=-1) != 0) | (np.diff(second, prepend=-1) != 0)
    return Overlaps(first[heaviest], second[heaviest], weight[heaviest])


def every_pair(last: Integers) -> Overlaps:
    """All pairs of a sentence ``i`` and one of ``i + 1`` to ``last[i]``, of no weight."""
    counts = last - np.arange(len(last))
    first = np.repeat(np.arange(len(last)), counts)
    second = first + 1 + np.arange(len(first)) - np.repeat(np.cumsum(counts) - counts, counts)
    return Overlaps(first, second, np.zeros_like(first))


def _matches(
    ids: Integers, sentences: Integers, place: Integers, last: Integers, block: int
) -> Iterator[tuple[Integers, Integers]]:
    """Places of equal units, the first in the earlier sentence; a sentence's all together."""
    order = np.argsort(_narrow(ids), kind="stable")  # by unit, then by place
    unit, sentence = ids[order], sentences[order]
    furthest = np.maximum.accumulate(last)  # of all sentences so far: past it nothing is compared
    near = (unit[1:] == unit[:-1]) & (sentence[1:] <= furthest[sentence[:-1]])
    kept = np.zeros(len(ids), dtype=bool)
    kept[:-1] = near
    kept[1:] |= near
    order, unit, sentence = order[kept], unit[kept], sentence[kept]
    keys = unit * len(last) + sentence
    start = np.searchsorted(keys, keys, side="right")
    count = np.searchsorted(keys, unit * len(last) + last[sentence], side="right") - start
    partners = place[order]
    start_of, count_of = np.zeros_like(ids), np.zeros_like(ids)
    start_of[order], count_of[order] = start, count
    matched = np.flatnonzero(count_of)  # in the order of the text again
    start, count, place, sentence = (x[matched] for x in (start_of, count_of, place, sentences))
    before = np.append(0, np.cumsum(count))
    edges = np.append(np.flatnonzero(np.diff(sentence, prepend=-1)), len(matched))
    done = 0
    while done < len(edges) - 1:
        full = before[edges[done]] + block
        following = max(done + 1, int(np.searchsorted(before[edges], full, side="right")) - 1)
        inside = slice(edges[done], edges[following])
        counts = count[inside]
        shift = start[inside] - before[inside] + before[edges[done]]
        where = np.repeat(shift, counts) + np.arange(counts.sum())
        yield np.repeat(place[inside], counts), partners[where]
        done = following


def _narrow(ids: Integers) -> NDArray[np.integer[Any]]:
    """The same numbers in 16 bits if they fit, which numpy sorts by radix, several times faster."""
    return ids.astype(np.uint16) if len(ids) and ids.max() < 1 << 16 else ids


def _runs(
    p: Integers, q: Integers, weight_at: Integers, sentence_at: Integers, least: int
) -> tuple[Integers, Integers, Integers]:
    """First sentence, second sentence and weight of every maximal run from ``least`` on."""
    if not len(p):
        return p, p, p
    shift = len(weight_at).bit_length()
    keys = ((q - p) << shift) | p
    keys.sort()
    starts = np.flatnonzero(np.append(True, np.diff(keys) != 1))
    place = keys & ((1 << shift) - 1)
    weight = np.add.reduceat(weight_at[place], starts)
    starts = starts[weight >= least]
    begin = place[starts]
    there = begin + (keys[starts] >> shift)
    return sentence_at[begin], sentence_at[there], weight[weight >= least]
