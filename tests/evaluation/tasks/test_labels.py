"""Zero-shot by label texts: a worked case, several texts a label, and what is missing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from embedsearch.errors import UserError
from embedsearch.evaluation.suite import Chosen, choose
from embedsearch.evaluation.task import Outcome, Subject, Task

from .folders import SUBJECT, no_encoder, words, write

TEST = [("lost_card", "my card is lost"), ("top_up", "how do I top it up"), ("top_up", "lost card")]


def own(folder: Path) -> Task:
    (chosen,) = choose([f"labels:{folder}"], None)
    assert isinstance(chosen, Chosen)
    return chosen.task


def value(outcome: Outcome) -> float | None:
    (score,) = outcome.scores
    assert score.name == "zero-shot"
    return score.value


def test_the_nearest_label_is_given(tmp_path: Path) -> None:
    task = own(write(tmp_path / "Bank", "test", TEST))
    assert task.name == "labels-bank"
    assert list(task.texts())[:2] == ["lost card", "top up"]
    outcome = task.score(SUBJECT)
    assert value(outcome) == pytest.approx(100 * 2 / 3)
    assert outcome.notes == ("3 test texts, 2 labels",)


def test_length_does_not_matter(tmp_path: Path) -> None:
    task = own(write(tmp_path / "own", "test", TEST))
    longer = Subject(lambda texts: words(texts) * [[len(text) + 1] for text in texts], no_encoder)
    assert value(task.score(longer)) == pytest.approx(100 * 2 / 3)


def test_labels_of_the_training_texts_are_candidates(tmp_path: Path) -> None:
    folder = write(tmp_path / "own", "test", TEST)
    write(folder, "train", [("my_card", "x"), ("top_up", "y")])
    assert list(own(folder).texts())[:3] == ["lost card", "my card", "top up"]


def test_a_label_may_have_texts_of_its_own(tmp_path: Path) -> None:
    folder = write(tmp_path / "own", "test", [("1", "rain today"), ("2", "a goal"), ("1", "sun")])
    table = folder / "labels.tsv"
    table.write_text("1\train\n2\tgoal\n1\tsun\n3\tshares\n")
    outcome = own(folder).score(SUBJECT)
    assert value(outcome) == 100.0 and outcome.notes == ("3 test texts, 3 labels",)
    assert "labels.tsv" in own(folder).protocol
    table.write_text("2\tgoal\n")
    with pytest.raises(UserError, match="no text for the label '1'"):
        own(folder)


def test_blank_texts_are_scored_and_counted(tmp_path: Path) -> None:
    """N4."""
    folder = write(tmp_path / "own", "test", [("top_up", ""), ("lost_card", "\u200b"), *TEST])
    outcome = own(folder).score(SUBJECT)
    assert value(outcome) == pytest.approx(100 * 3 / 5)  # zeros get the first label
    assert outcome.notes[1] == "2 zero vectors"


def test_without_finite_embeddings_there_is_no_score(tmp_path: Path) -> None:
    task = own(write(tmp_path / "own", "test", TEST))
    outcome = task.score(Subject(lambda texts: words(texts) * np.nan, no_encoder))
    assert value(outcome) is None and "NaN" in outcome.scores[0].reason


def test_one_label_is_no_choice(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="two labels"):
        own(write(tmp_path / "own", "test", TEST[:1]))
