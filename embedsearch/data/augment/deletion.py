"""``wdel``: words taken out at random."""

from __future__ import annotations

from random import Random

from embedsearch.data.augment.words import Words, changed, draw


def delete(sentence: str, rate: float, random: Random) -> str:
    """``sentence`` without ``words.changed`` of its words, drawn alike, but never without all.

    One word, or none, stays as it is. A word takes with it the space before it, or else the one
    after it; punctuation stays.
    """
    parts = Words.of(sentence)
    count = min(changed(rate, len(parts)), len(parts) - 1)
    if count < 1:
        return sentence
    for place in reversed(draw(range(len(parts)), count, random)):
        del parts.words[place]
        before, after = parts.gaps[place], parts.gaps.pop(place + 1)
        stripped = before.rstrip()
        parts.gaps[place] = stripped + (after if stripped != before else after.lstrip())
    return str(parts)
