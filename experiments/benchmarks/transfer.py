"""The transfer tasks beside SentEval's procedure, on the same embeddings."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean, median, pstdev, stdev

import torch
from joblib import Parallel, delayed

from embedsearch.encoder.model import Encoder
from embedsearch.evaluation.embeddings import Embeddings
from embedsearch.evaluation.logistic import Labelled
from embedsearch.evaluation.suite import Chosen, all_texts, choose
from embedsearch.evaluation.task import Outcome, Subject
from embedsearch.evaluation.tasks.transfer import Transfer
from experiments.benchmarks import senteval
from experiments.benchmarks.row import Inputs, Row

SEEDS = (1111, 1, 2, 3, 4, 5, 6, 7, 8, 9)
"""SentEval's own first; as many as there are repeats."""


def rows(inputs: Inputs) -> Iterator[Row]:
    """Accuracy and processor seconds of the classifiers on one thread, and the tasks' mean.

    Of SentEval the mean over the seeds of its classifier with their spread, and the median time of
    one; as many seeds at once as there are threads. Up to an hour for a backbone on all of
    SentEval's data; without ``--data`` nothing.
    """
    chosen = choose(["transfer"], Path(inputs.data)) if inputs.data else []
    tasks = [item for item in chosen if isinstance(item, Chosen)]
    for backbone in inputs.backbones if tasks else []:
        encoder = Encoder.load(backbone, "mean").eval()
        embed = Embeddings(encoder.embed)
        embed.prepare(all_texts(tasks))
        subject = Subject(embed, lambda: encoder)  # noqa: B023
        ours, theirs = [], []
        for item in tasks:
            assert isinstance(item.task, Transfer)
            what = f"{item.task.name}, {Path(backbone).name}"
            begun = time.process_time()
            score = item.task.score(subject)
            seconds = time.process_time() - begun
            parts = item.task.labelled(embed)
            peers = Parallel(inputs.threads)(
                delayed(_timed_peer)(parts, seed) for seed in SEEDS[: inputs.repeats]
            )
            accuracies, times = zip(*peers, strict=True)
            ours.append(_accuracy(score))
            theirs.append(fmean(accuracies))
            yield _row(what, ours[-1], seconds, accuracies, median(times))
        yield Row(
            f"mean of {len(tasks)} transfer tasks, {Path(backbone).name}",
            f"{fmean(ours):.2f}",
            f"{fmean(theirs):.2f}",
            f"{fmean(ours) - fmean(theirs):+.2f}",
            "within 0.3",
        )


def peer(parts: Sequence[Labelled], seed: int) -> float:
    """SentEval's accuracy on the parts of a task."""
    match [(part.rows, part.labels) for part in parts]:
        case [whole]:
            return senteval.nested(whole, seed)
        case [train, test]:
            return senteval.folded(train, test, seed)
        case [train, dev, test]:
            return senteval.split(train, dev, test, seed)
    raise AssertionError("a task has one, two or three parts")


def _row(what: str, ours: float, ours_s: float, theirs: Sequence[float], theirs_s: float) -> Row:
    spread = stdev(theirs) if len(theirs) > 1 else pstdev(theirs)
    return Row(
        what,
        f"{ours:.2f} in {ours_s:.1f} s",
        f"{fmean(theirs):.2f} ± {spread:.2f} in {theirs_s:.1f} s",
        f"{ours - fmean(theirs):+.2f}, {theirs_s / ours_s:.0f}x",
        f"within {max(0.6, 2 * spread):.2f}, 10x",
    )


def _accuracy(outcome: Outcome) -> float:
    value = outcome.scores[0].value
    assert value is not None, outcome.scores[0].reason
    return value


def _timed_peer(parts: Sequence[Labelled], seed: int) -> tuple[float, float]:
    """Its accuracy, and its processor seconds on one thread."""
    torch.set_num_threads(1)
    begun = time.process_time()
    return peer(parts, seed), time.process_time() - begun
