"""Entailments and contradictions: which pairs are taken, worked distances, what has none."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from embedsearch.errors import UserError
from embedsearch.evaluation.task import Outcome, Subject
from embedsearch.evaluation.tasks.inference import INFERENCE, Inference

ROWS = """\
neutral\t0\t5
contradiction\t0\t90
entailment\t0\t60
entailment\t0\t1
contradiction\t10\t70
entailment\t10\t130
-\t20\t20
entailment\t20\t21
"""


def angles(texts: Sequence[str]) -> NDArray[np.float32]:
    turned = np.deg2rad([float(text) for text in texts])
    return np.stack([np.cos(turned), np.sin(turned)], axis=1).astype(np.float32)


def own(folder: Path, rows: str) -> Inference:
    file = folder / "nli.tsv"
    file.write_text(rows, encoding="utf-8")
    assert INFERENCE.own is not None
    task = INFERENCE.own("mine", [file])
    assert isinstance(task, Inference)
    return task


def score(task: Inference) -> Outcome:
    return task.score(Subject(angles, lambda: None))  # type: ignore[arg-type, return-value]


def test_worked_numbers_of_the_first_pair_of_each_kind(tmp_path: Path) -> None:
    task = own(tmp_path, ROWS)
    assert (task.premises, task.entailments, task.contradictions) == (
        ("0", "10"),
        ("60", "130"),
        ("90", "70"),
    )
    outcome = score(task)
    found = {s.name: s.value for s in outcome.scores}
    assert (
        list(found) == list(INFERENCE.metrics) == ["ratio", "nearer", "entailment", "contradiction"]
    )
    assert outcome.arrays["entailment"] == pytest.approx([0.5, 1.5], abs=1e-6)
    assert outcome.arrays["contradiction"] == pytest.approx([1.0, 0.5], abs=1e-6)
    assert found["ratio"] == pytest.approx((0.5 + 3) / 2, abs=1e-5)
    assert found["nearer"] == pytest.approx(50)
    assert found["entailment"] == pytest.approx(1.0)
    assert found["contradiction"] == pytest.approx(0.75)
    assert outcome.notes == ("2 premises, 1 without both left out",)


def test_a_contradiction_that_lies_on_its_premise_has_no_ratio(tmp_path: Path) -> None:
    pairs = "contradiction\t0\t360\nentailment\t0\t10\n"
    outcome = score(own(tmp_path, pairs))
    ratio = outcome.scores[0]
    assert (ratio.value, ratio.reason) == (None, "every contradiction is at distance 0")
    assert outcome.notes[1] == "1 with a contradiction at distance 0"
    both = score(own(tmp_path, pairs + "contradiction\t1\t91\nentailment\t1\t61\n"))
    assert both.scores[0].value == pytest.approx(0.5, abs=1e-5)


def test_nan_has_a_reason(tmp_path: Path) -> None:
    task = own(tmp_path, "contradiction\t0\tnan\nentailment\t0\t10\n")
    assert {s.reason for s in score(task).scores} == {"the embeddings hold NaN or infinity"}
    assert {s.value for s in score(task).scores} == {None}


def test_the_layout_of_senteval(tmp_path: Path) -> None:
    rows = [line.split("\t") for line in ROWS.splitlines()]
    for name, column in (("labels", 0), ("s1", 1), ("s2", 2)):
        text = "".join(f"{row[column]}\r\n" for row in rows)
        (tmp_path / f"{name}.dev").write_bytes(text.encode())
    task = INFERENCE.open(INFERENCE.sets[0], tmp_path)
    assert isinstance(task, Inference)
    assert task.fingerprint == own(tmp_path, ROWS).fingerprint
    (tmp_path / "s2.dev").write_text("one line\n", encoding="utf-8")
    with pytest.raises(UserError, match=r"s2\.dev has 1 lines and .*labels\.dev 8"):
        INFERENCE.open(INFERENCE.sets[0], tmp_path)


def test_labels_are_in_any_case(tmp_path: Path) -> None:
    assert (
        own(tmp_path, ROWS.replace("entail", "Entail")).fingerprint
        == own(tmp_path, ROWS).fingerprint
    )


def test_files_that_hold_nothing_to_compare(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no premise has both"):
        own(tmp_path, "0\ta\tb\n1\ta\tc\n")
    with pytest.raises(UserError, match=r"nli.tsv, line 1: no label, premise"):
        own(tmp_path, "entailment\talone\n")


def test_snli_dev(shared: Path) -> None:
    task = INFERENCE.open(INFERENCE.sets[0], shared / "data/SentEval/downstream/SNLI")
    assert isinstance(task, Inference)
    assert len(task.premises) + task.left_out == len(
        set((shared / "data/SentEval/downstream/SNLI/s1.dev").read_text("utf-8").splitlines())
    )
    assert (len(task.premises), task.left_out) == (2943, 376)
