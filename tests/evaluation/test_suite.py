"""What is asked for is found, or said to be missing; averages are never silently smaller."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from embedsearch.encoder.model import Encoder
from embedsearch.errors import UserError
from embedsearch.evaluation.suite import QUICK, Chosen, Found, Missing, averages, choose
from embedsearch.evaluation.task import Outcome, Score, Subject
from embedsearch.evaluation.tasks import KINDS
from tests.evaluation.tasks.test_sts import A, make_year


def names(found: list[Chosen | Missing]) -> list[str]:
    return [item.name if isinstance(item, Missing) else item.task.name for item in found]


def test_kinds_groups_and_sets() -> None:
    every = [data.name for kind in KINDS.values() for data in kind.sets]
    assert len(set(every)) == len(every)
    assert not set(every) & {*KINDS, "papers", "quick"}
    assert set(QUICK) <= set(every)
    assert names(choose(["papers"], None)) == every
    assert names(choose(["stsb", "sts12", "stsb"], None)) == ["stsb", "sts12"]
    assert names(choose(["STSb", "TREC"], None)) == ["stsb", "trec"]


def test_missing_data_is_one_line_and_the_others_run(tmp_path: Path) -> None:
    make_year(tmp_path, a=A)
    found, missing = choose(["sts12", "sts13"], tmp_path)
    assert isinstance(found, Chosen)
    assert isinstance(missing, Missing)
    assert str(tmp_path) in missing.reason
    assert "STS13-en-test" in missing.reason
    assert "get it from SemEval STS 2013" in missing.reason


def test_broken_data_of_one_task_leaves_the_others_of_its_group(tmp_path: Path) -> None:
    make_year(tmp_path, a=A)
    (tmp_path / "STS/STS13-en-test").mkdir()
    found, broken, *_ = choose(["sts"], tmp_path)
    assert isinstance(found, Chosen)
    assert isinstance(broken, Missing)
    assert (broken.name, broken.kind) == ("sts13", "sts")
    assert "STS13-en-test: it holds no STS.input.TOPIC.txt" in broken.reason
    with pytest.raises(UserError, match=r"holds no STS\.input"):
        choose(["sts13"], tmp_path)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("sts122", "did you mean sts12"),
        ("cluster:mine.tsv", "did you mean clustering"),
        ("q", "there are papers"),
        ("x:y", "papers"),
    ],
)
def test_an_unknown_task_offers_the_nearest(name: str, hint: str) -> None:
    with pytest.raises(UserError, match=f"there is no task '{name}'.*{hint}"):
        choose([name], None)


def own(folder: Path, *lines: str) -> str:
    folder.mkdir(exist_ok=True)
    (folder / "task.yaml").write_text("\n".join(lines))
    (folder / "a.tsv").write_text("1\t0\t90\n2\t0\t10\n")
    return str(folder)


def test_an_own_folder(tmp_path: Path) -> None:
    [chosen] = choose([own(tmp_path / "mine", "kind: sts", "files: a.tsv", "metric: mean")], None)
    assert isinstance(chosen, Chosen)
    assert (chosen.task.name, chosen.kind, chosen.metric) == ("mine", "sts", "mean")


def test_an_own_folder_may_have_the_kind_s_numbers(tmp_path: Path) -> None:
    [chosen] = choose([own(tmp_path / "mine", "kind: map", "files: a.tsv", "clusters: 4")], None)
    assert isinstance(chosen, Chosen)
    assert "of 4 clusters" in chosen.task.protocol


def test_every_kind_of_one_s_own_says_how_its_files_are_laid_out() -> None:
    assert all(kind.layout for kind in KINDS.values() if kind.own)


def test_a_file_that_is_not_utf_8_is_said_to_be_read_as_latin_1(tmp_path: Path) -> None:
    file = tmp_path / "mine.tsv"
    file.write_bytes(b"1\ta caf\xe9\n2\ta dog\n1\tcaf\xe9s\n2\tdogs\n")
    [chosen] = choose([f"Clustering:{file}"], None)
    assert isinstance(chosen, Chosen)
    assert "a caf\xe9" in chosen.task.texts()
    flat = chosen.run(Subject(lambda texts: np.eye(len(texts), dtype=np.float32), never))
    assert flat.outcome.notes[-1] == "mine.tsv is not UTF-8, read as latin-1"


def test_a_header_of_a_table_is_no_label_and_said(tmp_path: Path) -> None:
    file = tmp_path / "mine.tsv"
    file.write_text("label\ttext\n1\ta cat\n2\ta dog\n1\tcats\n2\tdogs\n")
    [chosen] = choose([f"clustering:{file}"], None)
    assert isinstance(chosen, Chosen) and "text" not in chosen.task.texts()
    flat = chosen.run(Subject(lambda texts: np.eye(len(texts), dtype=np.float32), never))
    assert flat.outcome.notes[-1] == "mine.tsv has a header, which is no example"


def never() -> Encoder:
    raise AssertionError("embeddings are enough")


def test_one_file_under_two_kinds_is_two_tasks(tmp_path: Path) -> None:
    file = tmp_path / "sts12.tsv"
    file.write_text("1\ta cat\n2\ta dog\n1\tcats\n2\tdogs\n")
    wanted = [f"{kind}:{file}" for kind in ("clustering", "neighbourhood", "clustering")]
    assert names(choose(wanted, None)) == ["clustering-sts12", "neighbourhood-sts12"]


def test_two_tasks_of_one_name_are_refused(tmp_path: Path) -> None:
    files = [tmp_path / part / "mine.tsv" for part in "ab"]
    for number, file in enumerate(files):
        file.parent.mkdir()
        file.write_text(f"1\ta cat\n2\t{number} dogs\n")
    with pytest.raises(UserError, match="two different tasks are called 'clustering-mine'"):
        choose([f"clustering:{file}" for file in files], None)


def test_an_own_task_is_no_published_one(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"'stsb' has the name of a published one: rename .*stsb"):
        choose([own(tmp_path / "stsb", "kind: sts", "files: a.tsv")], None)


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("{0}", "has no task.yaml: say what it is, KIND:"),
        ("", "no task is named; there are papers, quick"),
        ("sts:", "there is no task 'sts:'"),
        ("sts:~/nowhere.tsv", "/nowhere.tsv does not exist"),
    ],
)
def test_a_task_that_is_half_said(name: str, error: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=error) as told:
        choose([name.format(tmp_path)], None)
    assert "~" not in str(told.value)


def test_a_data_folder_that_is_not_there_is_said_to_be(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"--data .*nowhere: there is no such folder"):
        choose(["stsb"], tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("lines", "error"),
    [
        (["kind: stz", "files: a.tsv"], "kind should be one of"),
        (["kind: sts"], "files should name a file"),
        (["kind: sts", "files: b.tsv"], "b.tsv does not exist"),
        (
            ["kind: map", "files: a.tsv", "clusters: 1"],
            "line 3, clusters: it should be a whole number",
        ),
        (["kind: map", "files: a.tsv", "clusters: [3]"], "line 3, clusters: .* 2 or more"),
        (["kind: sts", "files: a.tsv", "clusters: 3"], "line 3, clusters: a task has kind, files"),
        (["kind: sts", "files: [a.tsv]", "metric: f1"], "line 3, metric: sts has the metrics all"),
        (["kind: sts", "files: a.tsv", "colour: red"], "line 3, colour: a task has kind"),
    ],
)
def test_a_mistake_in_an_own_folder(tmp_path: Path, lines: list[str], error: str) -> None:
    with pytest.raises(UserError, match=error):
        choose([own(tmp_path / "mine", *lines)], None)


def found(name: str, value: float | None) -> Found:
    [item] = choose([name], None)
    outcome = Outcome((Score("all", value),))
    task = type("Named", (), {"name": name})()
    return Found(task, item.kind, outcome, 0.0, "all")


def test_an_average_over_less_says_so() -> None:
    years = [found(f"sts{year}", float(year)) for year in range(12, 17)]
    whole = averages(years)
    assert (whole["avg5"].value, whole["avg5"].reason) == (14.0, "")
    assert whole["avg7"].reason == "5 of 7, without stsb, sickr"
    part = averages([*years[1:], found("sts12", None)])["avg5"]
    assert (part.value, part.reason) == (14.5, "4 of 5, without sts12")
    assert averages([]) == {}


def test_shots_have_averages_of_their_own() -> None:
    """Over the sets of VaSCL's table, so ATIS is in none."""
    shots = {"5-shot": 50.0, "10-shot": 60.0, "20-shot": 70.0}
    more = {"snips": 0, "banking77": 2, "clinc150": 4, "hwu64": 6, "atis": 90}
    sets = [
        replace(
            found(name, 0.0),
            outcome=Outcome(tuple(Score(shot, value + extra) for shot, value in shots.items())),
            headline="5-shot",
        )
        for name, extra in more.items()
    ]
    whole = averages(sets)
    assert {name: score.value for name, score in whole.items()} == {
        f"intent {shot}": value + 3 for shot, value in shots.items()
    }
    assert averages(sets[1:])["intent 20-shot"].reason == "3 of 4, without snips"
