"""Purity and distance over K: worked numbers, a naive calculation, odd label sets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from embedsearch.evaluation.task import Outcome, Subject
from embedsearch.evaluation.tasks.neighbourhood import NEIGHBOURHOOD, NEIGHBOURS, neighbours

Vectors = NDArray[np.float32]


def hashed(texts: Sequence[str]) -> Vectors:
    drawn = [np.random.default_rng(list(text.encode()) or 0).normal(size=8) for text in texts]
    return np.array(drawn, dtype=np.float32)


def outcome_of(
    folder: Path, rows: Sequence[tuple[str, str]], embed: Callable[[Sequence[str]], Vectors]
) -> Outcome:
    file = folder / "texts.tsv"
    file.write_text("".join(f"{label}\t{text}\n" for label, text in rows), encoding="utf-8")
    assert NEIGHBOURHOOD.own is not None
    return NEIGHBOURHOOD.own("mine", [file]).score(Subject(embed, lambda: None))  # type: ignore[arg-type, return-value]


def values_of(outcome: Outcome) -> dict[str, float | None]:
    return {score.name: score.value for score in outcome.scores}


def test_worked_numbers() -> None:
    turned = np.deg2rad([0.0, 10, 60, 180])
    vectors = np.stack([np.cos(turned), np.sin(turned)], axis=1).astype(np.float32)
    found = neighbours(vectors, ["a", "a", "b", "b"], [1, 2])
    # nearest: 0-10, 10-0, 60-10, 180-60; second: 0-60, 10-60, 60-0, 180-10
    first = 1 - np.cos(np.deg2rad([10, 10, 50, 120]))
    second = 1 - np.cos(np.deg2rad([60, 50, 60, 170]))
    assert found == {
        "purity@1": pytest.approx(75),
        "purity@2": pytest.approx(100 * (1 + 1 + 0 + 1) / 8),
        "distance@1": pytest.approx(first.mean(), abs=1e-6),
        "distance@2": pytest.approx((first + second).mean() / 2, abs=1e-6),
    }


def test_parity_with_a_naive_calculation(tmp_path: Path) -> None:
    rows = [(str(i % 7), f"text {i}") for i in range(600)]
    found = values_of(outcome_of(tmp_path, rows, hashed))
    unit = hashed([text for _, text in rows]).astype(np.float64)
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    labels = np.array([label for label, _ in rows])
    for k in NEIGHBOURS:
        pure, apart = [], []
        for row, vector in enumerate(unit):
            cosines = unit @ vector
            order = [i for i in np.argsort(-cosines) if i != row][:k]
            pure.append((labels[order] == labels[row]).mean())
            apart.append(1 - cosines[order].mean())
        assert found[f"purity@{k}"] == pytest.approx(100 * np.mean(pure), abs=1e-3)
        assert found[f"distance@{k}"] == pytest.approx(np.mean(apart), abs=1e-5)


def test_labels_are_names_and_order_is_nothing(tmp_path: Path) -> None:
    rows = [(str(i % 3), f"text {i}") for i in range(60)]
    renamed = [(f"class {2 - int(label)}", text) for label, text in reversed(rows)]
    plain, other = (values_of(outcome_of(tmp_path, of, hashed)) for of in (rows, renamed))
    assert {k: v for k, v in plain.items() if v is not None} == pytest.approx(
        {k: v for k, v in other.items() if v is not None}
    )


def test_more_neighbours_than_texts_have_a_reason(tmp_path: Path) -> None:
    outcome = outcome_of(tmp_path, [("a", f"text {i}") for i in range(6)], hashed)
    scores = {score.name: score for score in outcome.scores}
    assert scores["purity@5"].value == 100
    assert (scores["purity@10"].value, scores["purity@10"].reason) == (
        None,
        "there are 5 other texts",
    )
    assert scores["distance@500"].value is None
    lonely = outcome_of(tmp_path, [("a", "text")], hashed)
    assert {score.value for score in lonely.scores} == {None}


def test_repeated_blank_and_odd_texts_are_finite_and_told(tmp_path: Path) -> None:
    rows = [("a", ""), ("a", "😀"), ("b", "\u200b"), ("b", "same"), ("b", "same")]
    outcome = outcome_of(tmp_path, rows, hashed)
    assert outcome.notes == ("5 texts in 2 classes of 2 to 3", "2 repeat another text")
    assert np.isfinite([v for v in values_of(outcome).values() if v is not None]).all()
    assert values_of(outcome)["purity@1"] is not None


@pytest.mark.parametrize(
    ("fill", "reason"),
    [(1.0, "all embeddings are the same"), (np.nan, "the embeddings hold NaN or infinity")],
)
def test_a_space_without_neighbours_has_a_reason(tmp_path: Path, fill: float, reason: str) -> None:
    rows = [("a", "one"), ("b", "two"), ("b", "three")]
    outcome = outcome_of(tmp_path, rows, lambda t: np.full((len(t), 4), fill, dtype=np.float32))
    assert {(score.value, score.reason) for score in outcome.scores} == {(None, reason)}


def test_the_headline_is_the_first_metric() -> None:
    assert NEIGHBOURHOOD.metrics[0] == "purity@1"
    assert len(NEIGHBOURHOOD.metrics) == 2 * len(NEIGHBOURS)
