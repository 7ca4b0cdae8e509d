"""STS tasks: pooled and mean scores under their own names, blank gold, SICK, real data."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from embedsearch.encoder.model import Encoder
from embedsearch.errors import UserError
from embedsearch.evaluation.embeddings import Embeddings
from embedsearch.evaluation.suite import Chosen, choose
from embedsearch.evaluation.task import Score, Subject


def angles(texts: Sequence[str]) -> NDArray[np.float32]:
    """Each text is an angle in degrees."""
    values = np.deg2rad([float(text) for text in texts])
    return np.stack([np.cos(values), np.sin(values)], axis=1).astype(np.float32)


def no_encoder() -> Encoder:
    raise AssertionError("no task here needs more than embeddings")


SUBJECT = Subject(angles, no_encoder)


def make_year(root: Path, year: int = 12, **topics: tuple[str, str]) -> Path:
    folder = root / f"STS/STS{year}-en-test"
    folder.mkdir(parents=True)
    for name, (pairs, gold) in topics.items():
        (folder / f"STS.input.{name}.txt").write_text(pairs)
        (folder / f"STS.gs.{name}.txt").write_text(gold)
    return folder


def scores_of(root: Path, name: str) -> dict[str, Score]:
    [chosen] = choose([name], root)
    assert isinstance(chosen, Chosen)
    return {score.name: score for score in chosen.task.score(SUBJECT).scores}


A = ("0\t0\n0\t30\n0\t60\n", "5\n3\n1\n")
B = ("0\t90\n0\t10\n", "4\n2\n")


def test_pooled_mean_and_weighted_mean_have_their_own_names(tmp_path: Path) -> None:
    make_year(tmp_path, a=A, b=B)
    found = scores_of(tmp_path, "sts12")
    cosines, gold = np.cos(np.deg2rad([0, 30, 60, 90, 10])), [5, 3, 1, 4, 2]
    pooled = 100 * stats.spearmanr(cosines, gold).statistic
    assert found["all"].value == pytest.approx(pooled)
    assert found["topic/a"].value == pytest.approx(100)
    assert found["topic/b"].value == pytest.approx(-100)
    assert found["mean"].value == pytest.approx(0)
    assert found["wmean"].value == pytest.approx((3 * 100 - 2 * 100) / 5)
    pearson = 100 * stats.pearsonr(cosines, gold).statistic
    assert found["all/pearson"].value == pytest.approx(pearson, abs=1e-4)


def test_blank_gold_is_skipped_and_counted(tmp_path: Path) -> None:
    make_year(tmp_path, 16, a=("0\t0\n0\t80\n0\t60\n", "5\n \n1\n"))
    [chosen] = choose(["sts16"], tmp_path)
    assert isinstance(chosen, Chosen)
    outcome = chosen.task.score(SUBJECT)
    assert outcome.scores[0].value == pytest.approx(100)
    assert "1 without a gold score skipped" in outcome.notes


def test_a_topic_without_a_correlation_leaves_no_mean(tmp_path: Path) -> None:
    make_year(tmp_path, a=A, b=("0\t90\n0\t10\n", "4\n4\n"))
    found = scores_of(tmp_path, "sts12")
    assert (found["mean"].value, found["mean"].reason) == (None, "no correlation on b")
    assert found["topic/b"].reason == "all gold scores are the same"
    assert found["all"].value is not None


def test_files_that_do_not_belong_together_are_an_error(tmp_path: Path) -> None:
    make_year(tmp_path, a=("0\t0\n0\t1\n0\t2\n", "5\n3\n"))
    with pytest.raises(UserError, match=r"3 pairs and .* 2 scores"):
        choose(["sts12"], tmp_path)


def test_sick_goes_by_its_header(tmp_path: Path) -> None:
    (tmp_path / "SICK").mkdir()
    rows = ["pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment"]
    rows += ["1\t0\t0\t5\tNEUTRAL", "2\t0\t90\t1.5\tNEUTRAL", "3\t0\t20\t4\tNEUTRAL", ""]
    file = tmp_path / "SICK/SICK_test_annotated.txt"
    file.write_text("\r\n".join(rows))
    assert scores_of(tmp_path, "sickr")["all"].value == pytest.approx(100)
    file.write_text("a\tb\n1\t2\n")
    with pytest.raises(UserError, match="line 1: no column 'relatedness_score'"):
        choose(["sickr"], tmp_path)


def test_an_own_file_of_pairs(tmp_path: Path) -> None:
    (tmp_path / "mine.tsv").write_text("5\t0\t0\n3\t0\t30\n1\t0\t60\n")
    [chosen] = choose([f"sts:{tmp_path / 'mine.tsv'}"], None)
    assert isinstance(chosen, Chosen)
    assert chosen.task.name == "sts-mine"
    assert chosen.task.score(SUBJECT).scores[0].value == pytest.approx(100)


def test_two_own_topics_of_one_name_are_refused(tmp_path: Path) -> None:
    for part in "ab":
        (tmp_path / part).mkdir()
        (tmp_path / part / "news.tsv").write_text("5\t0\t0\n3\t0\t30\n")
    (tmp_path / "task.yaml").write_text("kind: sts\nfiles: [a/news.tsv, b/news.tsv]\n")
    with pytest.raises(UserError, match="two topics are called 'news'"):
        choose([str(tmp_path)], None)


def test_a_real_year_equals_an_independent_calculation(shared: Path) -> None:
    """The nano on STS16, against scipy alone on the raw files."""
    encoder = Encoder.load("nano", "mean").eval()
    folder = shared / "data/SentEval/downstream/STS/STS16-en-test"
    rows = []
    for file in sorted(folder.glob("STS.input.*.txt")):
        lines = file.read_text(encoding="utf-8").splitlines()
        gold = file.with_name(file.name.replace("input", "gs")).read_text().split("\n")
        pairs = zip(lines, gold, strict=False)
        rows += [(*line.split("\t")[:2], float(score)) for line, score in pairs if score.strip()]
    left, right = (encoder.embed([" ".join(row[side].split()) for row in rows]) for side in (0, 1))
    cosines = (left * right).sum(1) / (left.norm(dim=1) * right.norm(dim=1))
    expected = 100 * stats.spearmanr(cosines.numpy(), [row[2] for row in rows]).statistic
    [chosen] = choose(["sts16"], shared / "data")
    assert isinstance(chosen, Chosen)
    subject = Subject(Embeddings(encoder.embed), no_encoder)
    assert chosen.task.score(subject).scores[0].value == pytest.approx(expected, abs=1e-3)
