"""The seven STS tasks beside sentence-transformers' evaluators and a loop as SentEval's.

Same model, threads, precision (float32) and pairs on all sides, nothing known before. The peer
evaluates one task after another, at the batch size it is fastest at on the first of them; the loop
encodes each side of each pair as it comes, 128 at a time. Texts are cut at the backbone's limit on
all sides. Beside the times stand the tokens each side runs through the model, padding included.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from statistics import median
from typing import Any

import torch
from scipy import stats

from embedsearch.data.pairs import ScoredPairs, joined
from embedsearch.encoder.backbone import describe
from embedsearch.evaluation.subject import open_subject
from embedsearch.evaluation.suite import Chosen, Found, all_texts, choose, run
from embedsearch.evaluation.tasks.sts import Similarity
from experiments.benchmarks.row import Inputs, Row
from experiments.benchmarks.training import sentence_transformer

LOOP_BATCH = 128
PEER_BATCHES = (16, 32, 64, 128)
AGREE = 0.01
"""How far scores of one task may lie apart, x100: sides round differently."""

Timed = tuple[dict[str, float], float, int]
"""Scores by task, seconds, and tokens run through the model."""


def rows(inputs: Inputs) -> Iterator[Row]:
    """On each backbone: the peer, the loop, and a second call of ours. ``inputs.data`` has the
    tasks; without it there are no rows."""
    if inputs.data is None:
        return
    torch.set_num_threads(inputs.threads)
    tasks = [item for item in choose(["sts"], Path(inputs.data)) if isinstance(item, Chosen)]
    for backbone in inputs.backbones:
        with tempfile.TemporaryDirectory() as folder:
            yield from _rows(backbone, tasks, Path(folder), inputs.repeats)


def _rows(backbone: str, tasks: Sequence[Chosen], folder: Path, repeats: int) -> Iterator[Row]:
    batch_size = _fastest(backbone, tasks[0])
    _ours(backbone, tasks[:1], folder / "warm")  # what the first call of all pays for
    sides: dict[str, list[Timed]] = {"ours": [], "again": [], "peer": [], "loop": []}
    for repeat in range(repeats):
        sides["ours"].append(_ours(backbone, tasks, folder / str(repeat)))
        sides["again"].append(_ours(backbone, tasks, folder / str(repeat), known=True))
        sides["peer"].append(_peer(backbone, tasks, batch_size))
        sides["loop"].append(_loop(backbone, tasks))
    for side, found in sides.items():
        for task, score in found[0][0].items():
            assert abs(score - sides["ours"][0][0][task]) < AGREE, f"{side} differs on {task}"
    seconds = {side: median(took for _, took, _ in found) for side, found in sides.items()}
    tokens = {side: found[0][2] for side, found in sides.items()}
    name = f"{len(tasks)} STS tasks, {Path(backbone).name}"
    for side, label, goal in (
        ("peer", f"sentence-transformers, batch {batch_size}", "2x"),
        ("loop", f"a loop as SentEval's, batch {LOOP_BATCH}", "3x"),
    ):
        yield Row(
            f"{name}; {tokens[side] / tokens['ours']:.2f}x the tokens on the other side",
            f"{seconds['ours']:.1f} s",
            f"{seconds[side]:.1f} s by {label}",
            f"{seconds[side] / seconds['ours']:.2f}x",
            goal,
        )
    share = 100 * seconds["again"] / seconds["ours"]
    again = f"{name}, a second call"
    yield Row(
        again, f"{seconds['again']:.2f} s", f"{seconds['ours']:.1f} s", f"{share:.1f} %", "10 %"
    )


def _ours(backbone: str, tasks: Sequence[Chosen], folder: Path, known: bool = False) -> Timed:
    begun = time.perf_counter()
    opened = open_subject(backbone, "mean", device="cpu", precision="fp32", cache_folder=folder)
    tokens = [0] if known else _counting(opened.subject.encoder().transformer)
    opened.embeddings.prepare(all_texts(tasks))
    found: list[Found] = list(run(tasks, opened.subject))
    scores = {item.task.name: float(item.score.value or 0) for item in found}
    return scores, time.perf_counter() - begun, tokens[0]


def _peer(backbone: str, tasks: Sequence[Chosen], batch_size: int) -> Timed:
    begun = time.perf_counter()
    model = sentence_transformer(backbone, describe(backbone).max_tokens)
    tokens = _counting(model[0].auto_model)
    scores = {item.task.name: _evaluated(model, _pairs(item), batch_size) for item in tasks}
    return scores, time.perf_counter() - begun, tokens[0]


def _evaluated(model: Any, pairs: ScoredPairs, batch_size: int) -> float:
    from sentence_transformers.evaluation import EmbeddingSimilarityEvaluator

    evaluator = EmbeddingSimilarityEvaluator(
        list(pairs.first), list(pairs.second), list(pairs.gold), batch_size=batch_size,
        write_csv=False,
    )  # fmt: skip
    with redirect_stdout(StringIO()):
        return 100 * float(evaluator(model)["spearman_cosine"])


def _loop(backbone: str, tasks: Sequence[Chosen]) -> Timed:
    begun = time.perf_counter()
    model = sentence_transformer(backbone, describe(backbone).max_tokens)
    tokens = _counting(model[0].auto_model)
    scores = {}
    for item in tasks:
        pairs, cosines = _pairs(item), []
        for start in range(0, len(pairs), LOOP_BATCH):
            rows = slice(start, start + LOOP_BATCH)
            left, right = (
                model.encode(list(side[rows]), batch_size=LOOP_BATCH, convert_to_tensor=True)
                for side in (pairs.first, pairs.second)
            )
            cosines += torch.nn.functional.cosine_similarity(left, right).tolist()
        scores[item.task.name] = 100 * float(stats.spearmanr(cosines, pairs.gold).statistic)
    return scores, time.perf_counter() - begun, tokens[0]


def _fastest(backbone: str, task: Chosen) -> int:
    """The peer's batch size, by trying each on one task."""
    model, pairs = sentence_transformer(backbone, describe(backbone).max_tokens), _pairs(task)

    def seconds(batch_size: int) -> float:
        begun = time.perf_counter()
        _evaluated(model, pairs, batch_size)
        return time.perf_counter() - begun

    seconds(PEER_BATCHES[0])  # the first call of all pays for what the others find done
    return min(PEER_BATCHES, key=seconds)


def _pairs(item: Chosen) -> ScoredPairs:
    assert isinstance(item.task, Similarity)
    return joined(item.task.name, item.task.topics)


def _counting(transformer: Any) -> list[int]:
    """Counts the tokens that go through it from now on, padding included."""
    tokens = [0]

    def count(_: torch.nn.Module, ids: tuple[torch.Tensor]) -> None:
        tokens[0] += ids[0].numel()

    transformer.get_input_embeddings().register_forward_pre_hook(count)
    return tokens
