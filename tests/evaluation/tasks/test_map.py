"""Maps: clusters that lie apart do so on the map, samples are the same, little texts have none."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from embedsearch.encoder.model import Encoder
from embedsearch.errors import UserError
from embedsearch.evaluation.suite import Chosen, choose
from embedsearch.evaluation.task import Subject
from embedsearch.evaluation.tasks.map import METRICS, TEXTS, Map, by_size


def no_encoder() -> Encoder:
    raise AssertionError("embeddings are enough")


def numbers(texts: Sequence[str]) -> NDArray[np.float32]:
    """``A N`` is a point near the ``A``-th axis, longer the greater ``N`` is."""
    random = np.random.default_rng(0)
    rows = [np.eye(4)[int(a)] * (1 + int(n)) for a, n in map(str.split, texts)]
    return np.array(rows + 0.05 * random.normal(size=(len(rows), 4))).astype(np.float32)


TEXTS_OF_FOUR = tuple(f"{n % 4 if n > 12 else 0} {n}" for n in range(60))


def own(file: Path) -> Map:
    [chosen] = choose([f"map:{file}"], None)
    assert isinstance(chosen, Chosen) and isinstance(chosen.task, Map)
    return chosen.task


def test_what_lies_apart_does_so_on_the_map() -> None:
    task = Map("made", TEXTS_OF_FOUR, clusters=4)
    outcome = task.score(Subject(numbers, no_encoder))
    values = {score.name: score.value or 0 for score in outcome.scores}
    assert list(values) == list(METRICS)
    assert values["silhouette"] > 0.8 and values["map/silhouette"] > 0.5
    assert 0.5 < values["map/trustworthiness"] <= 1 and values["map/kl"] > 0
    axis = np.array([int(text.split()[0]) for text in TEXTS_OF_FOUR])
    found = outcome.arrays["cluster"]
    assert len({*zip(axis, found.tolist(), strict=True)}) == 4
    assert set(found[axis == 0]) == {0}, "the largest is cluster 0"
    assert all(outcome.arrays[name].shape == (60,) for name in "xy")
    assert "of 4 clusters" in task.protocol


def test_length_of_an_embedding_is_of_no_account_and_threads_neither() -> None:
    task = Map("made", TEXTS_OF_FOUR, clusters=4)
    first = task.score(Subject(numbers, no_encoder))
    with threadpool_limits(1):
        other = task.score(Subject(lambda texts: numbers(texts) * np.float32(4), no_encoder))
    assert first.scores == other.scores
    for name, values in first.arrays.items():
        assert np.array_equal(values, other.arrays[name])


def test_clusters_are_numbered_by_size() -> None:
    clusters = np.array([3, 0, 0, 1, 3, 0, 2], dtype=np.int32)
    assert by_size(clusters).tolist() == [1, 0, 0, 2, 1, 0, 3]


def test_a_long_file_is_sampled_once_and_for_all(tmp_path: Path) -> None:
    lines = [f"line {n}" for n in range(TEXTS + 500)]
    file = tmp_path / "long.txt"
    file.write_text("\n".join(["", *lines, " "]), encoding="utf-8")
    task = own(file)
    chosen = list(task.texts())
    assert len(set(chosen)) == TEXTS and chosen == sorted(chosen, key=lines.index)
    assert max(map(lines.index, chosen)) > TEXTS + 400, "from all of the file"
    assert task.notes == ("2000 of 2500 texts, sampled with seed 0", "2 blank skipped")
    assert own(file).chosen == task.chosen and own(file).fingerprint == task.fingerprint


def test_a_short_file_is_whole(tmp_path: Path) -> None:
    file = tmp_path / "short.txt"
    file.write_bytes(b"\xef\xbb\xbfone  two\r\n\xe2\x80\x8b\r\nthree\r\n")
    task = own(file)
    assert (task.chosen, task.notes) == (("one two", "three"), ("2 texts", "1 blank skipped"))


def test_a_file_without_a_text_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "blank.txt"
    file.write_text(" \n\n", encoding="utf-8")
    with pytest.raises(UserError, match=r"blank\.txt: there is no text in it"):
        own(file)


@pytest.mark.parametrize(
    ("embed", "reason"),
    [
        (lambda texts: np.ones((len(texts), 4), np.float32), "all embeddings are the same"),
        (lambda texts: np.zeros((len(texts), 4), np.float32), "all embeddings are the same"),
        (
            lambda texts: np.resize(np.eye(4, dtype=np.float32), (len(texts), 4)),
            "4 embeddings differ; a map takes 11 at least",
        ),
        (
            lambda texts: np.full((len(texts), 4), np.inf, np.float32),
            "60 of 60 embeddings are not finite",
        ),
    ],
)
def test_no_map_of_too_little(embed: object, reason: str) -> None:
    outcome = Map("made", TEXTS_OF_FOUR).score(Subject(embed, no_encoder))
    assert {(score.value, score.reason) for score in outcome.scores} == {(None, reason)}
    assert not outcome.arrays


def test_the_least_that_has_a_map_and_many_alike() -> None:
    """Eleven that differ, one of them ninety times: finite numbers and places."""
    random = np.random.default_rng(0)
    points = np.concatenate([np.ones((90, 4)), random.normal(size=(10, 4))]).astype(np.float32)
    points[-1] = 0
    outcome = Map("made", ("text",) * 100).score(Subject(lambda texts: points, no_encoder))
    assert all(np.isfinite(score.value or np.nan) for score in outcome.scores)
    assert all(np.isfinite(values).all() for values in outcome.arrays.values())
    assert outcome.notes == ("1 zero vector",)
    few = Map("made", ("text",) * 11).score(Subject(lambda texts: points[-11:], no_encoder))
    assert all(np.isfinite(score.value or np.nan) for score in few.scores)
