"""Sets in folders, and embeddings that are made of a text's words."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from embedsearch.encoder.model import Encoder
from embedsearch.evaluation.task import Subject


def words(texts: Sequence[str]) -> NDArray[np.float32]:
    """The sum of its words' random vectors, (texts, 16); zeros for a text that has none."""
    out = np.zeros((len(texts), 16), dtype=np.float32)
    for row, text in enumerate(texts):
        for word in text.lower().split():
            seed = int(hashlib.sha256(word.encode()).hexdigest()[:8], 16)
            out[row] += np.random.default_rng(seed).normal(size=16)
    return out


def no_encoder() -> Encoder:
    raise AssertionError("these tasks need embeddings alone")


SUBJECT = Subject(words, no_encoder)


def write(folder: Path, part: str, examples: Sequence[tuple[str, str]]) -> Path:
    """``examples`` of (label, text) as ``PART/seq.in`` and ``PART/label``."""
    (folder / part).mkdir(parents=True)
    for name, column in (("label", 0), ("seq.in", 1)):
        lines = "".join(example[column] + "\n" for example in examples)
        (folder / part / name).write_text(lines, encoding="utf-8")
    return folder


def of_classes(sizes: Mapping[str, int], noise: str = "") -> list[tuple[str, str]]:
    """So many texts of each label, each with the label's own word and one that is its own."""
    return [(name, f"{name} {noise}{name}{i}") for name, n in sizes.items() for i in range(n)]
