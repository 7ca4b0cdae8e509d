"""Alignment and uniformity: worked numbers, the printed formulas, what has none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from embedsearch.evaluation.task import Score, Subject
from embedsearch.evaluation.tasks.geometry import GEOMETRY, Alignment

Vectors = NDArray[np.float32]


def no_encoder() -> object:
    raise AssertionError("embeddings are enough")


def scores_of(task: Alignment, embed: Callable[[Sequence[str]], Vectors]) -> dict[str, Score]:
    outcome = task.score(Subject(embed, no_encoder))  # type: ignore[arg-type]
    return {score.name: score for score in outcome.scores}


def angles(texts: Sequence[str]) -> Vectors:
    """Each text is an angle in degrees; its vector has a length of its own."""
    turned = np.deg2rad([float(text) for text in texts])
    lengths = 1 + np.arange(len(texts))[:, None]
    return (lengths * np.stack([np.cos(turned), np.sin(turned)], axis=1)).astype(np.float32)


def hashed(texts: Sequence[str]) -> Vectors:
    drawn = [np.random.default_rng(list(text.encode()) or 0).normal(size=8) for text in texts]
    return np.array(drawn, dtype=np.float32)


def own(folder: Path, *files: str) -> Alignment:
    paths = [folder / f"part{i}.tsv" for i in range(len(files))]
    for path, text in zip(paths, files, strict=True):
        path.write_text(text, encoding="utf-8")
    assert GEOMETRY.own is not None
    task = GEOMETRY.own("mine", paths)
    assert isinstance(task, Alignment)
    return task


def test_worked_numbers(tmp_path: Path) -> None:
    scores = scores_of(own(tmp_path, "5\t0\t90\n4\t0\t0\n3.9\t0\t180\n"), angles)
    assert list(scores) == ["alignment", "uniformity"]
    assert scores["alignment"].value == pytest.approx((2 + 0) / 2)  # 3.9 is no positive
    # distinct texts 0, 90 and 180 degrees: squared distances 2, 4 and 2
    assert scores["uniformity"].value == pytest.approx(np.log((2 * np.exp(-4) + np.exp(-8)) / 3))


def test_the_printed_formulas_over_many_blocks(tmp_path: Path) -> None:
    pairs = [(f"a{i}", f"b{i % 700}", i % 6) for i in range(1500)]
    task = own(tmp_path, "".join(f"{gold}\t{a}\t{b}\n" for a, b, gold in pairs))

    def unit(text: str) -> Vectors:
        vector = hashed([text])[0].astype(np.float64)
        return vector / np.linalg.norm(vector)  # type: ignore[no-any-return]

    apart = [np.linalg.norm(unit(a) - unit(b)) ** 2 for a, b, gold in pairs if gold >= 4]
    rows = np.array([unit(text) for text in dict.fromkeys(t for a, b, _ in pairs for t in (a, b))])
    near = [np.exp(-2 * ((rows[i] - rows[i + 1 :]) ** 2).sum(1)) for i in range(len(rows) - 1)]
    scores = scores_of(task, hashed)
    assert scores["alignment"].value == pytest.approx(np.mean(apart), rel=1e-5)
    assert scores["uniformity"].value == pytest.approx(
        np.log(np.concatenate(near).mean()), rel=1e-5
    )


def test_what_turns_or_stretches_the_space_changes_nothing(tmp_path: Path) -> None:
    task = own(tmp_path, "5\ta\tb\n4\tc\td\n1\te\tf\n")
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(8, 8)))[0].astype(np.float32)
    plain, turned = (scores_of(task, of) for of in (hashed, lambda texts: 7 * hashed(texts) @ turn))
    for name, score in plain.items():
        assert turned[name].value == pytest.approx(score.value, rel=1e-4)


def test_several_files_stand_beside_their_union(tmp_path: Path) -> None:
    task = own(tmp_path, "5\t0\t90\n", "5\t0\t60\n1\t0\t180\n")
    scores = scores_of(task, angles)
    parts = ["", "/part0", "/part1"]
    assert list(scores) == [f"{what}{p}" for p in parts for what in ("alignment", "uniformity")]
    values = [scores[f"alignment{part}"].value for part in parts]
    assert values == pytest.approx([1.5, 2.0, 1.0])
    texts = ["0", "90", "60", "180"]
    cosines = [np.cos(np.deg2rad(float(a) - float(b))) for a, b in combinations(texts, 2)]
    expected = np.log(np.mean(np.exp(-4 + 4 * np.array(cosines))))
    assert scores["uniformity"].value == pytest.approx(expected)


def test_no_positive_and_one_sentence_have_a_reason(tmp_path: Path) -> None:
    scores = scores_of(own(tmp_path, "0.9\ta\ta\n"), hashed)
    assert scores["alignment"] == Score(
        "alignment", None, reason="no pair has a gold score of 4 or more"
    )
    assert scores["uniformity"] == Score("uniformity", None, reason="there is one sentence")


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_embeddings_that_are_no_numbers_have_a_reason(tmp_path: Path, bad: float) -> None:
    def embed(texts: Sequence[str]) -> Vectors:
        return np.where(np.array(texts)[:, None] == "b", np.float32(bad), hashed(texts))

    scores = scores_of(own(tmp_path, "5\ta\tb\n", "5\ta\tc\n"), embed)
    assert scores["alignment"].value is None
    assert scores["uniformity"].reason == "the embeddings hold NaN or infinity"
    assert scores["alignment/part1"].value is not None


def test_zero_vectors_are_counted_and_finite(tmp_path: Path) -> None:
    task = own(tmp_path, "5\t😀\tb\n4\tc\td\n")
    embed = lambda texts: hashed(texts) * (np.array(texts)[:, None] != "😀")  # noqa: E731
    outcome = task.score(Subject(embed, no_encoder))  # type: ignore[arg-type]
    assert "1 zero vector" in outcome.notes
    assert outcome.scores[0].value == pytest.approx(
        (1 + scores_of(own(tmp_path, "5\tc\td\n"), hashed)["alignment"].value) / 2  # type: ignore[operator]
    )


def test_stsb_is_all_three_splits(shared: Path) -> None:
    task = GEOMETRY.open(GEOMETRY.sets[0], shared / "data/SentEval/downstream/STS/STSBenchmark")
    assert isinstance(task, Alignment)
    assert [(part.name, len(part)) for part in task.parts] == [
        ("stsb-train", 5749),
        ("stsb-dev", 1500),
        ("stsb-test", 1379),
    ]
    assert "STS-B train, dev and test" in task.protocol
