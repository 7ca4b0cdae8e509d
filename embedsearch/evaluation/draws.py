"""What a classifier is trained on: few texts of each class, and the batches of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from embedsearch.data.counted import counted

_NAMED = 20
"""Classes named in a note; the others are counted."""


def shuffled_classes(labels: Sequence[str], seed: int) -> list[NDArray[np.int64]]:
    """The rows of each class, classes in the order of their names, rows in a seeded random one.

    So the first of a class are a draw from it, and 5 of it are among 10 of it.
    """
    codes = np.unique(labels, return_inverse=True)[1]
    order = np.random.default_rng(seed).permutation(len(codes))
    by_class = order[np.argsort(codes[order], kind="stable")]
    return np.split(by_class, np.cumsum(np.bincount(codes))[:-1])


def batches(texts: int, steps: int, size: int, seed: int) -> NDArray[np.int64]:
    """The rows of each step, (steps, size): epoch behind epoch, each shuffled, none cut short."""
    epochs = np.tile(np.arange(texts), (-(-steps * size // texts), 1))
    order = np.random.default_rng(seed).permuted(epochs, axis=1).ravel()
    return order[: steps * size].reshape(steps, size)


def class_notes(train: Sequence[str], test: Sequence[str], needed: int) -> list[str]:
    """Which labels have fewer than ``needed`` texts in ``train``, and which are in ``test`` alone,
    where a classifier never gives them."""
    held = Counter(train)
    short = {label: count for label, count in held.items() if count < needed}
    unseen = Counter(label for label in test if label not in held)
    notes = [f"{counted(len(test), 'test text')}, {counted(len(held), 'label')}"]
    notes += [f"short of {needed} texts: {told(short)}"] if short else []
    notes += [f"in the test alone, counted wrong: {told(unseen)}"] if unseen else []
    return notes


def told(counts: Mapping[str, int]) -> str:
    """``rare 1, other 7``: each label with its count, the least first."""
    ranked = sorted(counts.items(), key=lambda item: (item[1], item[0]))
    parts = [f"{label} {count}" for label, count in ranked[:_NAMED]]
    return ", ".join(parts + ([f"{len(ranked) - _NAMED} more"] if len(ranked) > _NAMED else []))
