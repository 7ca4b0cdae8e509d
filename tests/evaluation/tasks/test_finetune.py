"""Fine-tuning: it learns what it is shown, the same twice, and leaves its encoder alone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from embedsearch.encoder.model import Encoder
from embedsearch.encoder.projection import Projection
from embedsearch.errors import UserError
from embedsearch.evaluation.suite import Chosen, choose
from embedsearch.evaluation.task import Subject, Task
from embedsearch.evaluation.tasks import finetune

from .folders import words, write

TEXTS = [("weather", "it rains today"), ("money", "send him cash"), ("weather", "the sun is out")]


@pytest.fixture(params=["bert", "t5"])
def encoder(request: pytest.FixtureRequest, make_backbone: Callable[..., Path]) -> Encoder:
    made = Encoder.load(str(make_backbone(request.param)), "mean")
    made.projection = Projection(made.facts.dim, 4)
    return made


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"FEW_STEPS": 4, "ALL_STEPS": 6, "BATCH": 4}.items():
        monkeypatch.setattr(finetune, name, value)


def own(folder: Path) -> Task:
    (chosen,) = choose([f"finetune:{folder}"], None)
    assert isinstance(chosen, Chosen)
    return chosen.task


def test_it_learns_and_leaves_encoder_and_seeds_alone(
    encoder: Encoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(finetune, "BACKBONE_RATE", 1e-3)
    texts, labels = [text for _, text in TEXTS], np.array([1, 0, 1])
    before = {name: value.clone() for name, value in encoder.state_dict().items()}
    state = torch.random.get_rng_state()
    models = [finetune.train(encoder, texts, labels, 40, 0) for _ in range(2)]
    assert torch.equal(torch.random.get_rng_state(), state)
    assert all(torch.equal(value, before[name]) for name, value in encoder.state_dict().items())
    first, second = (model.predict(texts) for model in models)
    assert models[0].fit == models[1].fit == 100
    assert torch.equal(first, second) and first.argmax(1).tolist() == [1, 0, 1]
    assert models[0].encoder.projection is None and models[0].head.in_features == encoder.facts.dim
    moved = dict(models[0].encoder.transformer.named_parameters())
    changed = sum(not torch.equal(p, before[f"transformer.{name}"]) for name, p in moved.items())
    assert changed > len(moved) / 2


def test_scores_and_notes(encoder: Encoder, tmp_path: Path) -> None:
    folder = write(tmp_path / "Own", "train", [*TEXTS, ("money", "")])
    write(folder, "test", [*TEXTS, ("new", "who knows")])
    task = own(folder)
    assert (task.name, list(task.texts())) == ("finetune-own", [])
    outcome = task.score(Subject(words, lambda: encoder))
    few, full = outcome.scores
    assert (few.name, full.name, full.sd) == ("8-shot", "fine-tuned", None)
    assert few.sd is not None and 0 <= (few.value or 0) <= 75 and 0 <= (full.value or 0) <= 75
    assert outcome.notes[:-1] == (
        "4 test texts, 2 labels",
        "short of 8 texts: money 2, weather 2",
        "in the test alone, counted wrong: new 1",
    )
    assert outcome.notes[-1].startswith("4 training texts; right of those seen at the end: 8-shot ")


def test_what_diverged_has_no_score(
    encoder: Encoder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(finetune, "HEAD_RATE", float("inf"))
    folder = write(tmp_path / "own", "train", TEXTS)
    outcome = own(write(folder, "test", TEXTS)).score(Subject(words, lambda: encoder))
    assert [score.value for score in outcome.scores] == [None, None]
    assert outcome.scores[0].reason == "the training diverged in 3 runs"


def test_rates_rise_then_fall_to_nothing() -> None:
    factors = [finetune._factor(step, 100) for step in range(101)]
    assert factors[0] == pytest.approx(0.1) and factors[9] == 1 and factors[100] == 0
    assert factors[55] == pytest.approx(0.5) and max(factors) == 1


def test_it_is_in_no_group_of_tasks(tmp_path: Path) -> None:
    """It takes hours with a large backbone: it runs where a folder is named."""
    assert "finetune" not in {item.kind for item in choose(["papers"], tmp_path)}
    with pytest.raises(UserError, match="name yours, finetune:FILE"):
        choose(["finetune"], tmp_path)
    with pytest.raises(UserError, match="two labels"):
        own(write(write(tmp_path / "own", "train", TEXTS[:1]), "test", TEXTS))
