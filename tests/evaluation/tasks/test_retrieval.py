"""The retrieval task: the encoder beside BM25, and what must not hurt it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from embedsearch.data.collection import Judgement, collect_judged
from embedsearch.errors import UserError
from embedsearch.evaluation.lexical import terms
from embedsearch.evaluation.suite import Chosen, choose
from embedsearch.evaluation.task import Outcome, Subject
from embedsearch.evaluation.tasks.retrieval import METRICS, Retrieval, collection_of

WORDS = ["heat", "slab", "wing", "flow", "shock", "plate"]
DOCUMENTS = [("1", "heat in slabs"), ("2", "wing flow"), ("3", "shock plate"), ("4", "wing wing")]
QUERIES = [("1", "wing"), ("2", "heat"), ("3", "plate")]
JUDGED: list[Judgement] = [("1", "4", 4), ("1", "2", 1), ("2", "1", 1), ("3", "1", 1)]


def bag(texts: Sequence[str]) -> NDArray[np.float32]:
    """How often a text has each of ``WORDS``."""
    return np.array([[terms(t).count(word) for word in WORDS] for t in texts], dtype=np.float32)


def broken(texts: Sequence[str]) -> NDArray[np.float32]:
    return np.full((len(texts), 2), np.nan, dtype=np.float32)


def task(
    documents: list[tuple[str, str]] = DOCUMENTS, queries: list[tuple[str, str]] = QUERIES
) -> Retrieval:
    return Retrieval("made", collect_judged(Path("made"), documents, queries, JUDGED))


def outcome(task: Retrieval, embed: object = bag) -> tuple[Outcome, dict[str, float | None]]:
    found = task.score(Subject(embed, lambda: pytest.fail("it needs embeddings alone")))  # type: ignore[arg-type]
    return found, {score.name: score.value for score in found.scores}


def test_worked_by_hand() -> None:
    """Query 1 finds 4 then 2; query 2 finds 1; query 3 has 3 first, then 1 of equals."""
    found, scores = outcome(task())
    assert [score.name for score in found.scores] == [*METRICS, *(f"bm25/{m}" for m in METRICS)]
    assert scores["mrr@10"] == pytest.approx(100 * (1 + 1 + 1 / 2) / 3)
    assert scores["ndcg@10"] == pytest.approx(100 * (1 + 1 + 1 / np.log2(3)) / 3)
    assert scores["recall@10"] == scores["recall@100"] == 100
    assert scores["bm25/mrr@10"] == scores["bm25/recall@100"] == pytest.approx(200 / 3)
    assert found.notes == ("4 documents, 3 queries, 4 relevant",)


def test_its_texts_are_all_that_is_embedded() -> None:
    made = task()
    assert sorted(made.texts()) == sorted(text for _, text in [*QUERIES, *DOCUMENTS])


def test_length_of_a_vector_does_not_matter() -> None:
    rows = iter(range(1, 99))
    scaled = lambda texts: bag(texts) * next(rows)  # noqa: E731
    assert outcome(task(), scaled)[1] == outcome(task())[1]


def test_blank_and_odd_texts_have_scores() -> None:
    odd = [*DOCUMENTS, ("5", ""), ("6", "  "), ("7", "\u200b"), ("8", "😀")]
    found, scores = outcome(task(odd, [QUERIES[0], QUERIES[1], ("3", "")]))
    assert all(value is not None and np.isfinite(value) for value in scores.values())
    assert set(found.notes) >= {"blank documents: 3", "blank queries: 1", "zero vectors: 5"}


def test_broken_embeddings_have_no_score_and_bm25_has() -> None:
    found, scores = outcome(task(), broken)
    assert [scores[name] for name in METRICS] == [None] * len(METRICS)
    assert found.scores[0].reason == "the embeddings hold NaN or infinity"
    assert scores["bm25/mrr@10"] is not None


def test_a_folder_of_ones_own(shared: Path) -> None:
    folder = shared / "data" / "retrieval" / "cranfield"
    (own,) = choose([f"retrieval:{folder}"], None)
    (known,) = choose(["cranfield"], shared / "data")
    assert isinstance(own, Chosen)
    assert isinstance(known, Chosen)
    assert own.task.fingerprint == known.task.fingerprint


def test_two_folders_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="2 files are given"):
        collection_of([tmp_path, tmp_path])


def test_bm25_on_cranfield(shared: Path) -> None:
    (chosen,) = choose(["cranfield"], shared / "data")
    assert isinstance(chosen, Chosen)
    random = np.random.default_rng(0)
    embed = lambda texts: random.normal(size=(len(texts), 8)).astype(np.float32)  # noqa: E731
    scores = {s.name: s.value for s in chosen.task.score(Subject(embed, None)).scores}  # type: ignore[arg-type]
    assert scores["bm25/ndcg@10"] == pytest.approx(36.52, abs=0.05)
    assert scores["ndcg@10"] < 5
