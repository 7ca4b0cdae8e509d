"""Seconds a training step of each method takes beside one of SimCSE's on the same backbone.

All methods take their steps in turn, one each a round, so that a noisy machine hits all alike;
medians over the rounds are compared. A step is the trainer's own: batch, views, terms, gradients,
optimiser. Methods are as their classes have them, and on an embedded backbone as the demo has them.
"""

from __future__ import annotations

import copy
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

import torch
from torch.utils import deterministic

from embedsearch.data.batches import Batches
from embedsearch.data.corpus import open_corpus
from embedsearch.data.documents import keep_documents, open_documents
from embedsearch.data.pair_batches import PairBatches
from embedsearch.data.pair_corpus import mine_pairs
from embedsearch.data.tokens import tokenise
from embedsearch.encoder.backbone import EMBEDDED
from embedsearch.encoder.model import Encoder
from embedsearch.methods.base import Batch, Method, MethodConfig, Needs, resolve
from embedsearch.methods.gur import GURConfig
from embedsearch.presets import load_preset
from embedsearch.sweep.catalogue import shipped_folder
from embedsearch.sweep.space import load_space
from embedsearch.training.checkpoint import Checkpoint
from embedsearch.training.loop import Course, Training
from experiments.benchmarks.row import Inputs, Row

BATCH, LENGTH = 64, 32
PEER = "simcse"
GOALS = {"vascl": "at most 1.15x (768 wide)", "scd": "at most 1.25x (768 wide, 4096)"}

BatchAt = Callable[[int], Batch]


@dataclass
class Run:
    """A method on its own copy of a backbone, and how long each of its steps took."""

    method: type[Method]
    training: Training
    seconds: list[float] = field(default_factory=list)

    def step(self, number: int) -> None:
        begun = time.perf_counter()
        self.training._step(number)
        if self.training.encoder.device.type == "cuda":
            torch.cuda.synchronize()
        self.seconds.append(time.perf_counter() - begun)

    @property
    def median_s(self) -> float:
        """Without the first, which warms up."""
        return median(self.seconds[1:])

    def widths(self) -> str:
        """Of the backbone, and of what the method puts behind it."""
        values = self.training.course.config.values()
        own = [f"{name} {x}" for name, x in values.items() if name.endswith("_dim")]
        return ", ".join([f"{self.training.encoder.facts.dim} wide", *own])


def rows(inputs: Inputs) -> Iterator[Row]:
    """A row for each method that a backbone can train.

    GUR wants a T5 and pairs: it stands beside SimCSE on the pairs' first sentences, on the nano-t5
    and on a T5 that is given. So its ratio is one of another model than the others'.
    """
    _prepare(inputs)
    for backbone in inputs.backbones:
        yield from _rows(inputs, backbone, "sentences")
    for backbone in [*inputs.backbones[1:], "nano-t5"]:
        yield from _rows(inputs, backbone, "pairs")


def methods() -> dict[str, type[Method]]:
    """The shipped ones that take training steps, by name, SimCSE first."""
    names = sorted((path.stem for path in shipped_folder().glob("*.yaml")), key=_peer_first)
    found = {name: resolve(load_space(shipped_folder() / f"{name}.yaml").target) for name in names}
    return {n: m for n, m in found.items() if m.needs != "nothing" and not m.fitted}


def _prepare(inputs: Inputs) -> None:
    """As a trial does."""
    torch.set_num_threads(inputs.threads)
    torch.set_flush_denormal(True)
    torch.use_deterministic_algorithms(inputs.device == "cpu")
    deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]


def _peer_first(name: str) -> tuple[bool, str]:
    return name != PEER, name


def _rows(inputs: Inputs, backbone: str, needs: Needs) -> Iterator[Row]:
    """Of the methods that need ``needs``; none where the backbone can train none of them."""
    base = Encoder.load(backbone, "mean").to(inputs.device)
    able = {
        name: method
        for name, method in methods().items()
        if (name == PEER or method.needs == needs)
        and base.facts.architecture in method.architectures
    }
    if list(able) == [PEER]:
        return
    configs = {name: _config(name, method, backbone) for name, method in able.items()}
    with tempfile.TemporaryDirectory() as cache:
        batch_at = (_pairs if needs == "pairs" else _sentences)(inputs, base, Path(cache))
        runs = {name: _run(inputs, base, able[name], configs[name], batch_at) for name in able}
        for number in range(1, inputs.repeats + 2):
            for run in runs.values():
                run.step(number)
    place = f"{Path(backbone).name}, {BATCH} x {LENGTH}, threads {inputs.threads}"
    for name, run in runs.items():
        yield _row(f"a step of {name} ({run.widths()}), {place}", run, runs[PEER], GOALS.get(name))


def _row(what: str, run: Run, peer: Run, goal: str | None) -> Row:
    ours_s, peer_s = run.median_s, peer.median_s
    unit = "pairs" if run.method.needs == "pairs" else "sentences"
    speed = f"{ours_s:.3f} s, {BATCH / ours_s:.0f} {unit}/s"
    return Row(what, speed, f"{peer_s:.3f} s of {PEER}", f"{ours_s / peer_s:.2f}x", goal or "")


def _config(name: str, method: type[Method], backbone: str) -> MethodConfig:
    """Of the class, or of the demo; all at one batch and length, and all but the demo's GUR pooled
    by the mean."""
    own = load_preset("demo").values_of(name) if backbone in EMBEDDED else {"pooling": "mean"}
    return method.Config(**{**own, "batch_size": BATCH, "max_length": LENGTH})


def _run(
    inputs: Inputs, base: Encoder, method: type[Method], config: MethodConfig, batch_at: BatchAt
) -> Run:
    torch.manual_seed(0)
    body = copy.deepcopy(base.transformer)
    encoder = Encoder(body, base.tokenizer, base.facts, config.pooling).train()
    steps = inputs.repeats + 1
    precision = "fp32" if inputs.device == "cpu" else "bf16"
    course = Course(config, steps, steps, 0, precision, save_s=60)
    training = Training(
        encoder,
        method(config, encoder).to(encoder.device).train(),
        batch_at if method.needs == "pairs" else lambda step: _texts(batch_at(step)),
        course,
        Checkpoint(Path("unused")),
    )
    return Run(method, training)


def _texts(batch: Batch) -> Batch:
    """The sentences alone, or the first ones of pairs."""
    return {name: batch[name] for name in ("input_ids", "attention_mask")}


def _sentences(inputs: Inputs, base: Encoder, cache: Path) -> BatchAt:
    corpus = open_corpus(inputs.corpus, cache=cache)
    tokens = tokenise(corpus, base.tokenizer, LENGTH, cache=cache)
    order = Batches(len(tokens), BATCH, seed=0)
    return lambda step: tokens.batch(order.indices(step))


def _pairs(inputs: Inputs, base: Encoder, cache: Path) -> BatchAt:
    """Steps of short pairs, with the titles beside them, as GUR's class has them."""
    pairing = GURConfig(batch_size=BATCH, max_length=LENGTH).pairing()
    documents = keep_documents(open_documents(inputs.documents), cache=cache)
    mined = mine_pairs(documents, pairing.mining, cache=cache)
    batches = PairBatches(mined, pairing, base.tokenizer, seed=0, cache=cache)
    steps = [s for s in range(batches.order.steps_per_epoch) if batches.order.pairs(s)[0] == 0]
    return lambda step: batches.batch(steps[step % len(steps)])
