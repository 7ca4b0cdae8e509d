"""The dev evaluation beside sentence-transformers' ``EmbeddingSimilarityEvaluator``."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median

import torch

from embedsearch.data.pairs import read_dev_pairs
from embedsearch.encoder.model import Encoder
from embedsearch.trial import dev_score
from experiments.benchmarks.row import Inputs, Row
from experiments.benchmarks.training import evaluator, sentence_transformer


def rows(inputs: Inputs) -> Iterator[Row]:
    """Seconds for one score, alternating; both cut at the backbone's own limit."""
    torch.set_num_threads(inputs.threads)
    dev = read_dev_pairs(inputs.dev)
    for backbone in inputs.backbones:
        encoder = Encoder.load(backbone, "mean")
        model = sentence_transformer(backbone, encoder.facts.max_tokens)
        peer = evaluator(dev)
        ours_s, peer_s = [], []
        for _ in range(inputs.repeats):
            ours_s.append(_seconds(lambda: dev_score(encoder, dev)))  # noqa: B023
            peer_s.append(_seconds(lambda: peer(model)))  # noqa: B023
        ours, theirs = median(ours_s), median(peer_s)
        yield Row(
            f"dev score, {Path(backbone).name}, {len(dev):,} pairs",
            f"{ours:.2f} s",
            f"{theirs:.2f} s",
            f"{theirs / ours:.2f}x",
            "1.5x",
        )


def _seconds(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun
