"""Training in chunks: what it ends with, what it needs, and that it goes on."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor

from embedsearch.encoder.model import Encoder
from embedsearch.methods.base import Batch, Method, MethodConfig
from embedsearch.methods.scd import SCD, SCDConfig
from embedsearch.methods.simcse import SimCSE, SimCSEConfig
from embedsearch.methods.vascl import VaSCL, VaSCLConfig
from embedsearch.records import Measurement
from embedsearch.training.checkpoint import Checkpoint
from embedsearch.training.chunks import CachedGradients
from embedsearch.training.gradients import Gradients
from embedsearch.training.loop import Course, Training
from tests.gradients import InOneGraph, deviation, gradients

Make = Callable[..., Path]
STILL = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
CASES: dict[str, tuple[type[Method], MethodConfig]] = {
    "scd": (SCD, SCDConfig(projector_dim=16, batch_size=6, learning_rate=1e-3)),
    "simcse": (SimCSE, SimCSEConfig(batch_size=6, learning_rate=1e-3)),
    "vascl": (VaSCL, VaSCLConfig(batch_size=6, k=3, learning_rate=1e-3)),
}


def batch_at(step: int, rows: int = 6) -> Batch:
    ids = torch.randint(10, 500, (rows, 8), generator=torch.Generator().manual_seed(step))
    mask = torch.ones_like(ids)
    mask[0, 5:] = 0
    return {"input_ids": ids, "attention_mask": mask}


def training(folder: Path, state: Path, name: str, chunk_size: int | None = 4) -> Training:
    method_class, config = CASES[name]
    torch.manual_seed(3)
    encoder = Encoder.load(str(folder), "mean")
    course = Course(config, 6, 2, 3, "fp32", save_s=0, chunk_size=chunk_size)
    return Training(encoder, method_class(config, encoder), batch_at, course, Checkpoint(state))


class Killed(BaseException):
    """As good as kill -9 for what is on disk."""


def run(runs: Training, kill_at: int | None = None) -> list[Tensor]:
    """The weights at the end."""

    def report(measurement: Measurement) -> None:
        if measurement.step == kill_at:
            raise Killed

    runs.run(report, lambda encoder: float(sum(p.detach().sum() for p in encoder.parameters())))
    return list(runs.encoder.state_dict().values())


@pytest.mark.parametrize("name", CASES)
def test_training_ends_with_the_same_weights(
    name: str, make_backbone: Make, tmp_path: Path
) -> None:
    folder = make_backbone("bert")
    in_chunks = training(folder, tmp_path / "a", name)
    at_once = training(folder, tmp_path / "b", name)
    at_once.gradients = InOneGraph(at_once.encoder, at_once.method, "fp32", 4)
    assert deviation(run(in_chunks), run(at_once)) < 1e-5


@pytest.mark.parametrize("name", ["simcse", "vascl"])
def test_without_dropout_they_are_those_of_training_without_chunks(
    name: str, make_backbone: Make, tmp_path: Path
) -> None:
    folder = make_backbone("bert", **STILL)
    in_chunks = run(training(folder, tmp_path / "a", name))
    assert deviation(in_chunks, run(training(folder, tmp_path / "b", name, None))) < 1e-5


@pytest.mark.parametrize("kill_at", [2, 4])
def test_killed_and_gone_on_is_the_same_to_the_bit(
    kill_at: int, make_backbone: Make, tmp_path: Path
) -> None:
    folder = make_backbone("bert")
    whole = run(training(folder, tmp_path / "a", "vascl"))
    with pytest.raises(Killed):
        run(training(folder, tmp_path / "b", "vascl"), kill_at)
    torch.manual_seed(99)
    gone_on = run(training(folder, tmp_path / "b", "vascl"))
    assert all(torch.equal(a, b) for a, b in zip(gone_on, whole, strict=True))


def simcse(folder: Path) -> tuple[Encoder, Method, list[torch.nn.Parameter]]:
    encoder = Encoder.load(str(folder), "mean").train()
    method = SimCSE(SimCSEConfig(), encoder)
    return encoder, method, [*encoder.parameters(), *method.parameters()]


def test_bf16_in_chunks(make_backbone: Make) -> None:
    encoder, method, parameters = simcse(make_backbone("bert"))
    chunks = CachedGradients(encoder, method, "bf16", parameters, 4)
    at_once = InOneGraph(encoder, method, "bf16", 4)
    found, wanted = (gradients(way, batch_at(0), parameters) for way in (chunks, at_once))
    assert deviation(found, wanted) < 2e-2  # as fine as its numbers are


def most_held(way: Gradients, rows: int) -> int:
    """The most bytes that are kept for the backward pass at once, but for parameters."""
    held = most = 0

    class Kept:
        def __init__(self, value: Tensor) -> None:
            nonlocal held, most
            self.value, self.bytes = value, value.nbytes if value.grad_fn is not None else 0
            held += self.bytes
            most = max(most, held)

        def __del__(self) -> None:
            nonlocal held
            held -= self.bytes

    with torch.autograd.graph.saved_tensors_hooks(Kept, lambda kept: kept.value):
        way.add(batch_at(0, rows))
    return most


def test_less_is_kept_at_once(make_backbone: Make) -> None:
    """A chunk is an eighth here, and the contrast is of all rows."""
    encoder, method, parameters = simcse(make_backbone("bert"))
    in_chunks = most_held(CachedGradients(encoder, method, "fp32", parameters, 16), rows=128)
    at_once = most_held(Gradients(encoder, method, "fp32"), rows=128)
    assert in_chunks < at_once / 5
