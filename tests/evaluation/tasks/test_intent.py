"""Few-shot intents: what is drawn, one layer against a naive one, and what is told."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from embedsearch.errors import UserError
from embedsearch.evaluation.draws import batches
from embedsearch.evaluation.suite import Chosen, choose
from embedsearch.evaluation.task import Subject
from embedsearch.evaluation.tasks import intent
from embedsearch.evaluation.tasks.intent import Intents, draw, fit

from .folders import SUBJECT, no_encoder, of_classes, words, write


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fewer steps, for what does not depend on them."""
    monkeypatch.setattr(intent, "STEPS", 200)


def own(folder: Path) -> Intents:
    (chosen,) = choose([f"intent:{folder}"], None)
    assert isinstance(chosen, Chosen) and isinstance(chosen.task, Intents)
    return chosen.task


def test_draws_of_a_class_are_disjoint_and_nested() -> None:
    labels = ["b"] * 50 + ["a"] * 41
    by_shots = {shots: draw(labels, shots) for shots in (5, 20)}
    assert by_shots[20].train.shape == by_shots[20].valid.shape == (5, 40)
    for split in range(5):
        few, many = (
            {name: set(getattr(by_shots[s], name)[split]) for name in ("train", "valid")}
            for s in (5, 20)
        )
        assert few["train"] < many["train"] and few["valid"] < many["valid"]
        assert not many["train"] & many["valid"]
        assert sum(labels[row] == "a" for row in many["train"]) == 20
    assert len({tuple(sorted(split)) for split in by_shots[5].train}) == 5


def test_a_scarce_class_is_halved() -> None:
    """D13: one example at 5 shots."""
    drawn = draw(["rare"] + ["odd"] * 7 + ["full"] * 10, 5)
    counts = [np.bincount(np.array([0] + [1] * 7 + [2] * 10)[rows]) for rows in drawn.train]
    assert all(list(count) == [1, 4, 5] for count in counts)
    assert drawn.valid.shape == (5, 0 + 3 + 5)


def test_a_layer_is_what_an_ordinary_loop_trains(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(intent, "STEPS", 60)
    monkeypatch.setattr(intent, "EVERY", 20)
    random = torch.Generator().manual_seed(1)
    vectors = torch.randn(60, 6, generator=random)
    vectors[:, -1] = 1
    labels = torch.arange(60) % 3
    drawn = draw([str(label) for label in labels.tolist()], 5)
    weights, steps = fit(vectors, labels, drawn)
    for split in range(5):
        layer = nn.Linear(5, 3)
        nn.init.zeros_(layer.weight)
        nn.init.zeros_(layer.bias)
        optimiser = torch.optim.Adam(layer.parameters(), lr=1e-4)
        best, found = -1.0, None
        valid = drawn.valid[split]
        for step, rows in enumerate(batches(15, 60, 32, split), start=1):
            taken = drawn.train[split][rows]
            optimiser.zero_grad()
            nn.functional.cross_entropy(layer(vectors[taken, :5]), labels[taken]).backward()
            optimiser.step()
            right = (layer(vectors[valid, :5]).argmax(1) == labels[valid]).double().mean()
            if step % 20 == 0 and right > best:
                best, found = float(right), (step, layer.weight.T.clone(), layer.bias.clone())
        assert found is not None and found[0] == steps[split]
        torch.testing.assert_close(weights[split, :5], found[1])
        torch.testing.assert_close(weights[split, 5], found[2])


def test_batches_run_through_every_text_before_one_comes_again() -> None:
    rows = batches(5, 4, 3, 0).ravel()
    assert sorted(rows[:5]) == sorted(rows[5:10]) == list(range(5))
    assert rows.shape == (12,)


def test_separable_intents_are_learnt_and_scores_are_the_same_again(
    tmp_path: Path, quick: None
) -> None:
    folder = write(tmp_path / "own", "train", of_classes({"play": 30, "pay": 30, "book": 12}))
    write(folder, "valid", of_classes({"play": 12, "pay": 12, "book": 30}, "v"))
    write(folder, "test", of_classes({"play": 9, "pay": 9, "book": 9}, "t"))
    task = own(folder)
    first, second = task.score(SUBJECT), own(folder).score(SUBJECT)
    assert first.scores == second.scores
    assert [score.name for score in first.scores] == ["5-shot", "10-shot", "20-shot"]
    assert all(score.value is not None and score.value > 90 for score in first.scores)
    assert all(score.sd is not None for score in first.scores)
    assert first.notes[0] == "27 test texts, 3 labels"
    assert not any("short of 40" in note or "the last" in note for note in first.notes)


def test_scarce_classes_and_unseen_labels_are_named(tmp_path: Path, quick: None) -> None:
    """D13: the unseen label counts as wrong."""
    folder = write(tmp_path / "own", "train", of_classes({"play": 40, "pay": 40, "rare": 1}))
    write(folder, "test", [*of_classes({"play": 6, "pay": 6}, "t"), ("new", "play pay")])
    outcome = own(folder).score(SUBJECT)
    assert "short of 40 texts: rare 1" in outcome.notes
    assert "in the test alone, counted wrong: new 1" in outcome.notes
    assert all((score.value or 0) <= 100 * 12 / 13 for score in outcome.scores)


def test_nothing_left_to_validate_on_takes_the_last_step(tmp_path: Path, quick: None) -> None:
    folder = write(tmp_path / "own", "train", [("play", "play"), ("pay", "pay")])
    write(folder, "test", [("play", "play"), ("pay", "pay")])
    outcome = own(folder).score(SUBJECT)
    assert [score.value for score in outcome.scores] == [100.0] * 3
    assert outcome.notes[-1].startswith("best at step 200, the last, in most splits")
    assert outcome.notes[-1].endswith(": 5-shot, 10-shot, 20-shot")


def test_atis_drops_what_twenty_shots_can_not_be_drawn_from(tmp_path: Path, quick: None) -> None:
    folder = write(tmp_path / "ATIS", "train", of_classes({"flight": 50, "fare": 30, "meal": 39}))
    write(folder, "valid", of_classes({"fare": 10}, "v"))
    write(folder, "test", [*of_classes({"flight": 4, "fare": 4, "meal": 3}), ("day", "day")])
    (chosen,) = choose(["atis"], tmp_path)
    assert isinstance(chosen, Chosen)
    outcome = chosen.task.score(SUBJECT)
    assert "under 40" in chosen.task.protocol
    assert outcome.notes[0] == "9 test texts, 2 labels"
    assert "dropped, with 3 test texts: meal 39" in outcome.notes
    assert "in the test alone, counted wrong: day 1" in outcome.notes


def test_blank_texts_keep_their_labels(tmp_path: Path, quick: None) -> None:
    """N4, D8."""
    train = [("play", "play"), ("pay", ""), ("play", "\u200b"), ("pay", "pay \U0001f600")]
    folder = write(tmp_path / "own", "train", train)
    write(folder, "test", [("play", "play"), ("pay", "  "), ("pay", "pay")])
    task = own(folder)
    assert task.pool.labels == ("play", "pay", "play", "pay") and task.pool.texts[1:3] == ("", "")
    outcome = task.score(SUBJECT)
    assert all(np.isfinite(score.value or np.nan) for score in outcome.scores)
    assert "3 blank texts" in outcome.notes


def test_only_what_is_drawn_is_embedded(tmp_path: Path) -> None:
    folder = write(tmp_path / "own", "train", of_classes({"play": 900, "pay": 900}))
    write(folder, "test", of_classes({"play": 1}, "t"))
    texts = list(own(folder).texts())
    assert len(texts) == len(set(texts)) <= 2 * 5 * 40 + 1
    assert texts[-1] == "play tplay0"


def test_embeddings_that_are_not_finite_have_no_score(tmp_path: Path) -> None:
    folder = write(tmp_path / "own", "train", of_classes({"play": 3, "pay": 3}))
    write(folder, "test", of_classes({"play": 1}))
    outcome = own(folder).score(Subject(lambda texts: words(texts) * np.nan, no_encoder))
    assert [score.value for score in outcome.scores] == [None] * 3
    assert outcome.scores[0].reason == "the embeddings hold NaN or infinity"


def test_what_is_wrong_in_a_folder_is_said(tmp_path: Path) -> None:
    folder = write(tmp_path / "own", "train", of_classes({"play": 3}))
    with pytest.raises(UserError, match=r"neither test/seq\.in"):
        own(folder)
    write(folder, "test", of_classes({"play": 3}))
    with pytest.raises(UserError, match="two labels"):
        own(folder)
    with pytest.raises(UserError, match="2 files; give one folder"):
        intent._own("own", [folder, folder])


def test_a_table_is_as_good_as_a_folder(tmp_path: Path) -> None:
    folder = write(tmp_path / "own", "train", of_classes({"play": 3, "pay": 3}))
    write(folder, "test", of_classes({"play": 1}))
    tables = tmp_path / "tables"
    tables.mkdir()
    for part, sizes in (("train", {"play": 3, "pay": 3}), ("test", {"play": 1})):
        lines = [f"{label}\t{text}\r\n" for label, text in of_classes(sizes)]
        (tables / f"{part}.tsv").write_text("".join(lines), encoding="utf-8-sig", newline="")
    assert own(folder).fingerprint == own(tables).fingerprint


def test_eight_classes_of_atis_are_left_as_the_paper_says(shared: Path) -> None:
    (chosen,) = choose(["atis"], shared / "data")
    assert isinstance(chosen, Chosen) and isinstance(chosen.task, Intents)
    assert len(set(chosen.task.pool.labels)) == 8
    assert len(chosen.task.pool) == 4978 - 144 and len(chosen.task.test) == 893 - 88
