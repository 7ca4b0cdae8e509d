"""What the loop records, keeps, and goes on from."""

import math
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor

from embedsearch.encoder.model import Encoder
from embedsearch.methods.base import Batch, Method, MethodConfig
from embedsearch.methods.frozen import Frozen, FrozenConfig
from embedsearch.methods.scd import SCD, SCDConfig
from embedsearch.methods.simcse import SimCSE, SimCSEConfig
from embedsearch.records import Measurement
from embedsearch.training.checkpoint import Checkpoint
from embedsearch.training.loop import Course, Diverged, Training

Make = Callable[..., Path]
CASES: list[tuple[type[Method], MethodConfig]] = [
    (SCD, SCDConfig(projector_dim=16, batch_size=4, learning_rate=1e-3)),
    (SimCSE, SimCSEConfig(batch_size=4, learning_rate=1e-3)),
]


class Killed(BaseException):
    """As good as kill -9 for what is on disk."""


def batch_at(step: int) -> Batch:
    ids = torch.randint(10, 500, (4, 8), generator=torch.Generator().manual_seed(step))
    return {"input_ids": ids, "attention_mask": torch.ones_like(ids)}


def evaluate(encoder: Encoder) -> float:
    """Some number that every weight has a part in."""
    return float(sum(p.detach().double().abs().sum() for p in encoder.parameters()))


def training(
    folder: Path, state: Path, case: tuple[type[Method], MethodConfig], steps: int = 6
) -> Training:
    method_class, config = case
    torch.manual_seed(3)
    encoder = Encoder.load(str(folder), "mean")
    method = method_class(config, encoder)
    course = Course(config, steps, eval_steps=2, seed=3, precision="fp32", save_s=0)
    return Training(encoder, method, batch_at, course, Checkpoint(state))


def run(
    training: Training, kill_at: int | None = None
) -> tuple[list[Measurement], dict[str, Tensor]]:
    seen: list[Measurement] = []

    def report(measurement: Measurement) -> None:
        seen.append(measurement)
        if measurement.step == kill_at:
            raise Killed

    training.run(report, evaluate)
    return seen, training.encoder.state_dict()


def numbers(seen: list[Measurement]) -> list[tuple[int, dict[str, float]]]:
    """All but what a clock says."""
    return [(m.step, {k: v for k, v in m.metrics.items() if k != "sentences_per_s"}) for m in seen]


@pytest.mark.parametrize("case", CASES, ids=["scd", "simcse"])
@pytest.mark.parametrize("kill_at", [0, 2, 4])
def test_killed_and_gone_on_is_the_same_to_the_bit(
    case: tuple[type[Method], MethodConfig], kill_at: int, make_backbone: Make, tmp_path: Path
) -> None:
    folder = make_backbone("bert")
    whole, weights = run(training(folder, tmp_path / "a", case))
    with pytest.raises(Killed):
        run(training(folder, tmp_path / "b", case), kill_at)
    torch.manual_seed(99)
    gone_on, same_weights = run(training(folder, tmp_path / "b", case))
    assert numbers(gone_on) == numbers(whole)
    assert all(torch.equal(weights[name], same_weights[name]) for name in weights)


def test_it_does_go_on(make_backbone: Make, tmp_path: Path) -> None:
    """The restart above is not simply a start from nothing."""
    folder = make_backbone("bert")
    with pytest.raises(Killed):
        run(training(folder, tmp_path / "b", CASES[0]), kill_at=4)
    assert first_step(training(folder, tmp_path / "b", CASES[0])) == 4


def test_scores_are_recorded_and_the_best_is_kept(make_backbone: Make, tmp_path: Path) -> None:
    scores = iter([90.0, 10.0, 30.0, 20.0])
    runs = training(make_backbone("bert"), tmp_path / "s", CASES[1])
    weights: list[Tensor] = []

    def score(encoder: Encoder) -> float:
        weights.append(next(encoder.parameters()).detach().clone())
        return next(scores)

    seen: list[Measurement] = []
    progress = runs.run(seen.append, score)
    assert [m.step for m in seen] == [0, 2, 4, 6]
    assert (progress.start_score, progress.best_score, progress.best_step) == (90.0, 30.0, 4)
    assert torch.equal(next(runs.encoder.parameters()), weights[2])
    assert set(seen[1].metrics) == {"dev/spearman", "loss", "loss/contrast", "sentences_per_s"}
    assert seen[1].metrics["loss"] == pytest.approx(seen[1].metrics["loss/contrast"])


def test_nan_is_divergence_with_its_term(make_backbone: Make, tmp_path: Path) -> None:
    runs = training(make_backbone("bert"), tmp_path / "s", CASES[1])
    runs.method.terms = lambda views, batch: {"contrast": views[0].sum() * math.nan}  # type: ignore[method-assign]
    with pytest.raises(Diverged, match="loss/contrast is not finite at step 2"):
        runs.run(lambda _: None, evaluate)


def test_a_method_without_training_has_its_score_at_step_0(
    make_backbone: Make, tmp_path: Path
) -> None:
    runs = training(make_backbone("bert"), tmp_path / "s", (Frozen, FrozenConfig()), steps=0)
    progress = runs.run(lambda _: None, lambda _: 55.0)
    assert (progress.start_score, progress.best_score, progress.best_step) == (55.0, 55.0, 0)


def damage(state: Path, how: str) -> None:
    if how == "version":
        path = state / "progress.json"
        path.write_text(path.read_text().replace('"version": ', '"version": 9'))
    elif how == "other weights":
        (state / "heads.safetensors").write_bytes((state / "best.safetensors").read_bytes())
    elif how == "lost file":
        (state / "random.safetensors").unlink()
    else:
        name = "progress.json" if how == "cut progress" else "optimiser.safetensors"
        content = (state / name).read_bytes()
        (state / name).write_bytes(content[: 0 if how == "empty" else len(content) // 2])


def first_step(runs: Training) -> int:
    """The step it goes on from."""
    asked: list[int] = []
    runs.batch_at = lambda step: asked.append(step) or batch_at(step)  # type: ignore[func-returns-value]
    run(runs)
    return min(asked)


HOW = ["cut", "cut progress", "empty", "version", "other weights", "lost file"]


@pytest.mark.parametrize("how", HOW)
def test_a_damaged_state_is_passed_over_for_the_one_before_it(
    how: str, make_backbone: Make, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder, state = make_backbone("bert"), tmp_path / "b"
    whole, weights = run(training(folder, tmp_path / "a", CASES[0]))
    with pytest.raises(Killed):
        run(training(folder, state, CASES[0]), kill_at=6)
    damage(state, how)
    shutil.copytree(tmp_path / "b.old", tmp_path / "copy")
    again = training(folder, state, CASES[0])
    gone_on, same_weights = run(again)
    assert numbers(gone_on) == numbers(whole)
    assert all(torch.equal(weights[name], same_weights[name]) for name in weights)
    assert "the state before it" in caplog.text
    assert first_step(training(folder, tmp_path / "copy", CASES[0])) == 2


def test_with_no_state_that_can_be_read_it_starts_anew(
    make_backbone: Make, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = make_backbone("bert")
    with pytest.raises(Killed):
        run(training(folder, tmp_path / "b", CASES[1]), kill_at=6)
    damage(tmp_path / "b", "cut")
    damage(tmp_path / "b.old", "empty")
    assert first_step(training(folder, tmp_path / "b", CASES[1])) == 0
    assert caplog.text.count("can't be read") == 2


def test_a_damaged_state_never_becomes_the_one_before(make_backbone: Make, tmp_path: Path) -> None:
    folder = make_backbone("bert")
    with pytest.raises(Killed):
        run(training(folder, tmp_path / "b", CASES[1]), kill_at=6)
    damage(tmp_path / "b", "cut")
    with pytest.raises(Killed):
        run(training(folder, tmp_path / "b", CASES[1]), kill_at=6)
    damage(tmp_path / "b", "cut")
    assert first_step(training(folder, tmp_path / "b", CASES[1])) == 2


def test_bf16_autocast_trains(make_backbone: Make, tmp_path: Path) -> None:
    from dataclasses import replace

    runs = training(make_backbone("bert"), tmp_path / "s", CASES[0])
    runs.course = replace(runs.course, precision="bf16")
    seen, weights = run(runs)
    assert all(math.isfinite(m.metrics["dev/spearman"]) for m in seen)
    assert all(value.dtype != torch.bfloat16 for value in weights.values())


@pytest.mark.gpu
def test_a_gpu_runs_the_same_loop(make_backbone: Make, tmp_path: Path) -> None:
    runs = training(make_backbone("bert"), tmp_path / "s", CASES[0])
    runs.encoder.to("cuda")
    runs.method.to("cuda")
    seen, weights = run(runs)
    assert seen[-1].step == 6
    assert {value.device.type for value in weights.values()} == {"cuda"}
