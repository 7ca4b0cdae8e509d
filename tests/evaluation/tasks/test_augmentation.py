"""Similarity to explicit augmentations: what is rewritten, by what, and what is left out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from embedsearch.data.augment import rewriter, wordnet
from embedsearch.errors import UserError
from embedsearch.evaluation.task import Score, Subject
from embedsearch.evaluation.tasks import augmentation
from embedsearch.evaluation.tasks.augmentation import AUGMENTATION, Rewritten

SENTENCE = "the quick brown fox jumps over a lazy dog today"
SYNSET = "00001740 03 n 02 fox 0 vixen 0 000 | a small wild dog\n"


def counted(texts: Sequence[str]) -> NDArray[np.float32]:
    """How often each word of ``SENTENCE`` is in a text."""
    words = [*SENTENCE.split(), "vixen"]
    return np.array([[text.split().count(w) for w in words] for text in texts], dtype=np.float32)


def own(folder: Path, text: str, *more: Path) -> Rewritten:
    file = folder / "texts.txt"
    file.write_text(text, encoding="utf-8")
    assert AUGMENTATION.own is not None
    task = AUGMENTATION.own("mine", [file, *more])
    assert isinstance(task, Rewritten)
    return task


def scores_of(task: Rewritten) -> dict[str, Score]:
    outcome = task.score(Subject(counted, lambda: None))  # type: ignore[arg-type, return-value]
    return {score.name: score for score in outcome.scores}


@pytest.fixture
def words_folder(tmp_path: Path) -> Path:
    folder = tmp_path / "wordnet"
    folder.mkdir()
    for part in ("noun", "verb", "adj", "adv"):
        (folder / f"data.{part}").write_text(SYNSET if part == "noun" else "", encoding="utf-8")
    return folder


def test_worked_cosines_of_deletion(tmp_path: Path) -> None:
    scores = scores_of(own(tmp_path, SENTENCE))
    assert list(scores) == list(AUGMENTATION.metrics)
    # 10 words: one is deleted at 5 % and at 10 %, two at 20 %
    assert scores["wdel@5"].value == pytest.approx(np.sqrt(0.9))
    assert scores["wdel@10"].value == pytest.approx(np.sqrt(0.9))
    assert scores["wdel@20"].value == pytest.approx(np.sqrt(0.8))


def test_what_is_not_there_has_a_reason(tmp_path: Path) -> None:
    scores = scores_of(own(tmp_path, SENTENCE))
    assert {scores[f"{kind}@5"].value for kind in ("wnet", "ctxt")} == {None}
    assert scores["wnet@20"].reason.startswith("WordNet is not there")
    assert scores["ctxt@20"].reason.startswith("no masked language model")


def test_wordnet_in_a_folder_of_the_users(tmp_path: Path, words_folder: Path) -> None:
    task = own(tmp_path, f"{SENTENCE}\nnothing to replace\n", words_folder)
    assert sorted(task.versions["wnet@5"]) == sorted(
        [SENTENCE.replace("fox", "vixen"), "nothing to replace"]
    )
    without = own(tmp_path, f"{SENTENCE}\nnothing to replace\n")
    assert task.fingerprint != without.fingerprint
    outcome = own(tmp_path, SENTENCE, words_folder).score(Subject(counted, lambda: None))  # type: ignore[arg-type, return-value]
    assert {s.name: s.value for s in outcome.scores}["wnet@10"] == pytest.approx(0.9)


def test_each_is_loaded_once_for_all_rates(
    tmp_path: Path, words_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task, loaded = own(tmp_path, SENTENCE, words_folder), []
    monkeypatch.setattr(
        augmentation, "rewriter", lambda kind, *of: loaded.append(kind) or rewriter(kind, *of)
    )
    assert len(task.versions) == 6
    assert loaded == ["wdel", "wnet"]


def test_a_masked_model_in_a_folder_of_the_users(
    tmp_path: Path, make_masked_model: Callable[..., Path]
) -> None:
    task = own(tmp_path, SENTENCE, make_masked_model(river=100.0))
    (version,) = task.versions["ctxt@5"]
    assert [word for word in version.split() if word not in SENTENCE.split()] == ["river"]
    assert scores_of(task)["ctxt@5"].value == pytest.approx(np.sqrt(0.9))


def test_the_same_texts_every_time(tmp_path: Path) -> None:
    lines = "".join(f"word{i} of a line that is {i}\n" for i in range(1200)) * 2
    task, again = own(tmp_path, lines), own(tmp_path, lines)
    assert len(task.originals) == len(set(task.originals)) == 1000
    assert (task.originals, task.versions) == (again.originals, again.versions)
    assert "1,000 distinct sentences (seed 0)" in task.protocol
    assert len(list(task.texts())) == 4 * 1000


def test_a_text_of_one_word_stays_and_is_counted(tmp_path: Path) -> None:
    task = own(tmp_path, f"fox\n\n  \n😀\n{SENTENCE}\n")
    outcome = task.score(Subject(counted, lambda: None))  # type: ignore[arg-type, return-value]
    assert "2 of 3 not changed by wdel" in outcome.notes
    assert "1 zero vector" in outcome.notes
    assert all(score.value is None or np.isfinite(score.value) for score in outcome.scores)


def test_no_text_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="there is no text in it"):
        own(tmp_path, "\n  \n")


def test_the_published_set_looks_for_its_sources(
    shared: Path, words_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = shared / "data/SentEval/downstream/STS/STSBenchmark"
    monkeypatch.setattr(wordnet, "DEBIAN", words_folder)
    found = AUGMENTATION.open(AUGMENTATION.sets[0], place)
    monkeypatch.setattr(wordnet, "DEBIAN", words_folder / "none")
    lacking = AUGMENTATION.open(AUGMENTATION.sets[0], place)
    assert isinstance(found, Rewritten)
    assert isinstance(lacking, Rewritten)
    assert not isinstance(found.sources["wnet"], str)
    assert isinstance(lacking.sources["wnet"], str)
    assert len(found.originals) == 1000
    assert found.protocol.startswith("mean cosine of a text and its augmentation, 1,000 distinct")
