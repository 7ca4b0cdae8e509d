"""What is asked for is found, or said to be missing; averages are never silently smaller."""

from __future__ import annotations

from pathlib import Path

import pytest

from embedsearch.errors import UserError
from embedsearch.evaluation.suite import QUICK, Chosen, Found, Missing, averages, choose
from embedsearch.evaluation.task import Outcome, Score
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


def test_missing_data_is_one_line_and_the_others_run(tmp_path: Path) -> None:
    make_year(tmp_path, a=A)
    found, missing = choose(["sts12", "sts13"], tmp_path)
    assert isinstance(found, Chosen)
    assert isinstance(missing, Missing)
    assert str(tmp_path) in missing.reason
    assert "STS13-en-test" in missing.reason
    assert "get it from SemEval STS 2013" in missing.reason


@pytest.mark.parametrize(
    ("name", "hint"),
    [("sts122", "did you mean sts12"), ("q", "there are papers"), ("x:y", "papers")],
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


@pytest.mark.parametrize(
    ("lines", "error"),
    [
        (["kind: stz", "files: a.tsv"], "kind should be one of"),
        (["kind: sts"], "files should name a file"),
        (["kind: sts", "files: b.tsv"], "b.tsv does not exist"),
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
