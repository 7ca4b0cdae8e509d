"""Training sentences a second beside sentence-transformers' own trainer.

SimCSE on both sides: same backbone, sentences, batch, length, steps, learning rate and threads, no
head; tokenisation and the dev scores (before, half way and at the end) are counted on both. The
two alternate; medians are compared.
"""

from __future__ import annotations

import gc
import tempfile
import time
from collections.abc import Iterator
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from statistics import median
from typing import Any

import torch

from embedsearch import feed, trial
from embedsearch.data.corpus import open_corpus
from embedsearch.data.pairs import ScoredPairs, read_dev_pairs
from embedsearch.encoder.backbone import describe, fingerprint
from embedsearch.encoder.model import quiet_transformers
from embedsearch.methods.simcse import SimCSEConfig
from embedsearch.place import Place
from embedsearch.records import Point, Source, Status
from embedsearch.setting import Setting
from experiments.benchmarks.row import Inputs, Row

BATCH, LENGTH, RATE = 64, 32, 1e-4


def rows(inputs: Inputs) -> Iterator[Row]:
    """Sentences a second on each backbone."""
    torch.set_num_threads(inputs.threads)
    with tempfile.TemporaryDirectory() as folder:
        sentences = _sentences(inputs, Path(folder))
        for backbone in inputs.backbones:
            ours, peer, peaks = [], [], []
            for repeat in range(inputs.repeats):
                ours.append(_ours(inputs, backbone, sentences, Path(folder) / f"{repeat}"))
                peaks.append(_peak_megabytes(inputs))
                peer.append(_theirs(inputs, backbone, sentences))
                peaks.append(_peak_megabytes(inputs))
            speeds = [inputs.steps * BATCH / median(seconds) for seconds in (ours, peer)]
            if inputs.device == "cuda":
                yield _memory_row(backbone, max(peaks[::2]), max(peaks[1::2]))
            yield Row(
                f"training, {Path(backbone).name}, {inputs.steps} steps of {BATCH} x {LENGTH}",
                f"{speeds[0]:.0f} sentences/s",
                f"{speeds[1]:.0f} sentences/s",
                f"{speeds[0] / speeds[1]:.2f}x",
                "1.3x",
            )


def _peak_megabytes(inputs: Inputs) -> float:
    """Of GPU memory since the last call; 0 on a CPU."""
    if inputs.device == "cpu":
        return 0.0
    peak = torch.cuda.max_memory_allocated() / 2**20
    gc.collect()
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    return peak


def _memory_row(backbone: str, ours: float, peer: float) -> Row:
    what = f"peak GPU memory of that, {Path(backbone).name}"
    return Row(what, f"{ours:.0f} MB", f"{peer:.0f} MB", f"{ours / peer:.2f}x", "")


def _sentences(inputs: Inputs, folder: Path) -> list[str]:
    """One epoch of them, so that neither side tokenises what it does not use."""
    corpus = open_corpus(inputs.corpus, cache=folder / "all")
    return corpus[: inputs.steps * BATCH]


def _ours(inputs: Inputs, backbone: str, sentences: list[str], folder: Path) -> float:
    file = folder / "corpus.txt"
    folder.mkdir(parents=True, exist_ok=True)
    file.write_text("\n".join(sentences), encoding="utf-8")
    facts, dev = describe(backbone), read_dev_pairs(inputs.dev)
    for kept in (trial._backbone, feed._tokens, trial._dev_pairs):
        kept.cache_clear()
    begun = time.perf_counter()
    corpus = open_corpus(file, cache=folder / str(begun))
    setting = Setting(
        preset="benchmark",
        backbone=Source(facts.location, fingerprint(Path(facts.location)), backbone),
        facts=facts,
        corpus=Source(str(corpus.folder), corpus.fingerprint, corpus.name),
        rows=len(corpus),
        dev=Source(inputs.dev, dev.fingerprint, dev.name),
        steps=inputs.steps,
        epochs=None,
        eval_steps=inputs.steps // 2,
        seed=0,
        device=inputs.device,
        precision=_precision(inputs),
        threads=inputs.threads,
        cache=folder / str(begun) / "cache",
    )
    config = SimCSEConfig(
        batch_size=BATCH, max_length=LENGTH, learning_rate=RATE, pooling="mean", head="none"
    )
    point = Point("simcse", "embedsearch.methods.simcse:SimCSE", config.model_dump(by_alias=True))
    place = Place(folder / str(begun))
    result = trial.run(setting.spec(point), place, lambda _: None)
    seconds = time.perf_counter() - begun
    assert result.status is Status.FINISHED, result.reason
    return seconds


def _theirs(inputs: Inputs, backbone: str, sentences: list[str]) -> float:
    from datasets import Dataset
    from sentence_transformers import SentenceTransformerTrainer
    from sentence_transformers.losses import MultipleNegativesRankingLoss

    dev = read_dev_pairs(inputs.dev)
    begun = time.perf_counter()
    model = sentence_transformer(backbone, LENGTH, inputs.device)
    trainer = SentenceTransformerTrainer(
        model=model,
        args=_arguments(inputs),
        train_dataset=Dataset.from_dict({"anchor": sentences, "positive": sentences}),
        loss=MultipleNegativesRankingLoss(model),
        evaluator=evaluator(dev),
    )
    with redirect_stdout(StringIO()):  # it prints every score
        evaluator(dev)(model)
        trainer.train()
    return time.perf_counter() - begun


def _arguments(inputs: Inputs) -> Any:
    from sentence_transformers import SentenceTransformerTrainingArguments

    return SentenceTransformerTrainingArguments(
        output_dir=tempfile.mkdtemp(),
        num_train_epochs=1,
        per_device_train_batch_size=BATCH,
        learning_rate=RATE,
        eval_strategy="steps",
        eval_steps=inputs.steps // 2,
        save_strategy="no",
        logging_strategy="no",
        report_to="none",
        disable_tqdm=True,
        use_cpu=inputs.device == "cpu",
        bf16=_precision(inputs) == "bf16",
        dataloader_drop_last=True,
    )


def _precision(inputs: Inputs) -> str:
    return "fp32" if inputs.device == "cpu" else "bf16"


def sentence_transformer(backbone: str, length: int, device: str = "cpu") -> Any:
    """The same backbone with mean pooling, as the peer builds it."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.models import Pooling, Transformer

    with quiet_transformers():
        body = Transformer(describe(backbone).location, max_seq_length=length)
    body.float()
    return SentenceTransformer(
        modules=[body, Pooling(body.get_embedding_dimension())], device=device
    )


def evaluator(dev: ScoredPairs) -> Any:
    """The peer's evaluation of the same pairs."""
    from sentence_transformers.evaluation import EmbeddingSimilarityEvaluator

    return EmbeddingSimilarityEvaluator(
        list(dev.first), list(dev.second), list(dev.gold), batch_size=64, write_csv=False
    )
