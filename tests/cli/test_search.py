"""Searching, stopping and paying, as a user gives it; without Ray's seconds."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from embedsearch.sweep import search
from embedsearch.tracking.store import Store
from embedsearch.tracking.writer import Writer
from tests import here
from tests.cli.test_commands import run

__all__ = ["run"]

Run = Callable[..., tuple[int, str, str]]
SPACE = """
method: embedsearch.methods.scd:SCD
conditions: [r_a < r_b]
grids:
  list:
    values: {alpha: [0.001, 0.01, 0.1], r_a: [0.0, 0.1], r_b: [0.1, 0.2]}
  free:
    values: {alpha: {low: 0.001, high: 1, log: true}}
  near:
    around: list
    values: {alpha: {factors: [0.5, 2]}}
  published:
    values: {alpha: 0.1, r_a: 0.0, r_b: 0.2}
"""
TPE = ("sweep", "scd", "--grid", "list", "--search", "tpe", "--preset", "tiny.yaml")


@pytest.fixture(autouse=True)
def _without_ray(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name, replaced in here.REPLACED.items():
        monkeypatch.setattr(search, name, replaced)
    Path("search_spaces").mkdir(exist_ok=True)
    Path("search_spaces/scd.yaml").write_text(SPACE)


def test_a_searcher_goes_on_where_it_was_and_ends(run: Run) -> None:
    code, out, err = run(*TPE, "--max-trials", "3")
    assert code == 0, err
    assert "scd list: 0 trials of at most 3, 0 known" in out
    assert (
        "search tpe: at most 3 trials, 0 earlier trials known to it, 1 published point first" in out
    )
    first = next(line for line in out.splitlines() if line.startswith("alpha="))
    assert first.startswith("alpha=0.1 r_a=0 r_b=0.2: "), "the published one"
    assert "3/3 done" in out and "Best of 3" in out
    code, out, err = run(*TPE, "--max-trials", "5")
    assert code == 0, err
    assert "3 trials of at most 5, 3 known" in out and "3 earlier trials known to it" in out
    assert "5/5 done" in out and "Best of 5" in out
    code, out, err = run(*TPE, "--max-trials", "5", "--json")
    assert json.loads(out)["trials"] == 5 and "done" not in err
    code, out, _ = run(*TPE, "--max-trials", "50")
    assert code == 0 and "Best of 9" in out, "there are no more"
    store = Store.open()
    assert len(store.search("scd", kind="trial")) == 9
    sweeps = store.search("scd", kind="sweep")
    assert len({run.tags["embedsearch.sweep_id"] for run in sweeps}) == 1
    assert {run.status for run in sweeps} == {"FINISHED"}


def test_a_searcher_learns_from_other_sweeps_unless_it_is_cold(run: Run) -> None:
    run("sweep", "scd", "--grid", "list", "--preset", "tiny.yaml", "--max-trials", "4")
    out = run(*TPE, "--max-trials", "1")[1]
    assert "4 earlier trials known to it" in out
    out = run(*TPE, "--max-trials", "1", "--search-seed", "1", "--cold")[1]
    assert "0 earlier trials known to it\n" in out


def test_another_space_or_setting_is_a_search_of_its_own_and_said(run: Run) -> None:
    new = "a new search: an earlier one of grid list by tpe is in the store, where "
    assert new not in run(*TPE, "--max-trials", "2")[1]
    assert new not in run(*TPE, "--max-trials", "2")[1]
    assert f"{new}seed was 0 and is 1\n" in run(*TPE, "--max-trials", "1", "--seed", "1")[1]
    out = run(*TPE, "--max-trials", "1", "temperature=0.5")[1]
    assert f"{new}temperature was 1.0 and is 0.5\n" in out, "the search most like it"
    Path("search_spaces/scd.yaml").write_text(SPACE.replace("alpha: [0.001, ", "alpha: ["))
    code, out, err = run("plan", *TPE[1:], "--max-trials", "1")
    assert code == 0 and f"{new}alpha was 0.001, 0.01, 0.1 and is 0.01, 0.1\n" in out, err
    assert new not in run("plan", *TPE[1:], "--max-trials", "1", "--search-seed", "3")[1]
    assert new not in run("plan", *TPE[1:], "--max-trials", "1", "--search", "gp")[1]


def test_interrupted_it_runs_first_what_did_not_end(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(work: Any, place: Any, cluster: Any, observer: Any, **_: Any) -> None:
        observer.trial_started(work.next("0"))
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(search, "run_trials", stop)
        code, out, _ = run(*TPE, "--max-trials", "2")
    assert code == 130 and "1 of 1 trial left" in out
    [begun] = Store.open().search("scd", kind="trial")
    code, out, _ = run(*TPE, "--max-trials", "2")
    assert code == 0 and "1 trial of at most 2, 0 known" in out
    assert len(Store.open().search("scd", kind="trial")) == 2
    [gone_on] = Store.open().search("scd", kind="trial", run_id=begun.run_id)
    assert gone_on.status == "FINISHED"


def test_killed_it_runs_first_what_was_running(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is told to the store on the way out."""

    def die(work: Any, place: Any, cluster: Any, observer: Any, **_: Any) -> None:
        observer.trial_started(work.next("0"))
        raise SystemExit(137)

    with monkeypatch.context() as patch:
        patch.setattr(search, "run_trials", die)
        patch.setattr(Writer, "sweep_ended", lambda writer, *_: writer._claim.release())
        run(*TPE, "--max-trials", "2")
    [begun] = Store.open().search("scd", kind="trial")
    assert begun.tags["embedsearch.status"] == "running"
    code, out, _ = run(*TPE, "--max-trials", "2")
    assert code == 0 and "1 trial of at most 2, 0 known" in out
    [gone_on] = Store.open().search("scd", kind="trial", run_id=begun.run_id)
    assert gone_on.status == "FINISHED"


def test_random_is_the_same_few_points_in_another_order(run: Run) -> None:
    few = ("--preset", "tiny.yaml", "--max-trials", "5", "--json")
    grid = json.loads(run("sweep", "scd", "--grid", "list", *few)[1])
    again = json.loads(run("sweep", "scd", "--grid", "list", "--search", "random", *few)[1])
    assert {t["spec_id"] for t in grid["ranked"]} == {t["spec_id"] for t in again["ranked"]}
    other = run("sweep", "scd", "--grid", "list", "--search", "random", "--search-seed", "3", *few)
    assert {t["spec_id"] for t in json.loads(other[1])["ranked"]} != {
        t["spec_id"] for t in grid["ranked"]
    }


def test_a_budget_of_trials_is_of_all_its_commands(run: Run) -> None:
    command = ("sweep", "scd", "--grid", "list", "--preset", "tiny.yaml", "--budget")
    code, out, _ = run(*command, "2trials")
    assert code == 0 and "budget: 2 of 2 trials left" in out
    assert "2/2 done" in out and "/9 done" not in out
    assert "Ended: the budget of 2trials is spent, 7 trials cut off or not begun" in out
    code, out, _ = run(*command, "2trials")
    assert code == 0 and "budget: 0 of 2 trials left" in out and "done" not in out
    code, out, _ = run(*command, "3trials")
    assert code == 0 and "2 known" in out and out.count("(untrained") == 1
    assert "3/3 done" in out
    sweeps = Store.open().search("scd", kind="sweep")
    assert max(run.metrics["spent/trials"] for run in sweeps) == 3
    assert all(run.metrics["spent/device_seconds"] > 0 for run in sweeps)


def test_a_trial_that_was_interrupted_is_charged_once(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = ("sweep", "scd", "--grid", "list", "--preset", "tiny.yaml", "--budget", "3trials")

    def stop(work: Any, place: Any, cluster: Any, observer: Any, **how: Any) -> None:
        here.run_trials(work[:1], place, cluster, observer, **how)
        how["meter"].begin(work[1].id)
        observer.trial_started(work[1])
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(search, "run_trials", stop)
        assert run(*command)[0] == 130
    code, out, _ = run(*command)
    assert code == 0 and "budget: 2 of 3 trials left" in out and "Best of 3" in out


def test_a_budget_of_time_ends_it(run: Run) -> None:
    code, out, _ = run(*TPE, "--budget", "0.001s")
    assert code == 0, out
    assert "until its budget is spent" in out and "the budget of 0.001s is spent" in out
    assert len(Store.open().search("scd", kind="trial")) == 1


def test_a_range_wants_an_end(run: Run) -> None:
    command = ("sweep", "scd", "--grid", "free", "--search", "tpe", "--preset", "tiny.yaml")
    code, _, err = run(*command)
    assert code == 2 and "has no end, say how many trials with --max-trials or --budget" in err
    code, out, _ = run(*command, "--budget", "3trials")
    assert code == 0 and "Best of 3" in out


@pytest.mark.parametrize("budget", ["--max-trials=1", "--budget=1trial"])
def test_one_is_not_said_as_many(budget: str, run: Run) -> None:
    for search_by in ("tpe", "random"):
        words = (*TPE[:4], "--search", search_by, "--preset", "tiny.yaml", "--steps=1", budget)
        said = [run(*words)[1], run("plan", *words[1:])[1]]
        assert all(re.search(r"\b1 (of 1 )?trial\b", text) for text in said), said
        assert not re.search(r"\b1 [a-z ]*(trials|points|steps|duplicates)\b", "".join(said)), said


def test_coarse_then_fine_in_one_command(run: Run) -> None:
    command = ("sweep", "scd", "--grid", "list-then-near", "--preset", "tiny.yaml")
    code, out, err = run(*command)
    assert code == 0, err
    assert "scd list: 9 trials" in out and "scd near: 2 trials" in out
    assert "around the best of list" in out
    assert out.count("Going on with near, around the best\n") == 1
    found = json.loads(run(*command, "--json")[1])
    assert found["grid"] == "near" and found["before"][0]["grid"] == "list"
    assert "scd near: 2 trials" in run("plan", *command[1:])[1]
    assert "takes no --budget" in run(*command, "--budget", "2trials")[2]
    for grid, reason in {
        "list-then-free": "free does not lie around the best of list",
        "lsit-then-near": "perhaps 'list'",
    }.items():
        code, _, err = run("sweep", "scd", "--grid", grid, "--preset", "tiny.yaml")
        assert code == 2 and reason in err


@pytest.mark.parametrize(
    ("option", "reason"),
    [
        (("--search", "tep"), "perhaps 'tpe'"),
        (("--stop", "ahsa"), "perhaps 'asha'"),
        (("--budget", "soon"), "give a number of trials"),
        (("--budget", "4gpu-h"), "hold no gpus"),
        (("--cold",), "--search grid does not"),
        (("--search-seed", "3"), "--search grid does neither"),
    ],
)
def test_what_is_misspelt_stops_before_anything_runs(
    option: tuple[str, str], reason: str, run: Run, tmp_path: Path
) -> None:
    code, _, err = run("sweep", "scd", "--grid", "list", "--preset", "tiny.yaml", *option)
    assert code == 2 and reason in err and "Traceback" not in err
    assert not (tmp_path / "mlruns" / "artifacts").exists()


def test_a_plan_says_what_it_would_cost(run: Run) -> None:
    plan = ("plan", *TPE[1:])
    code, out, err = run(*plan, "--max-trials", "3")
    assert code == 0, err
    assert "Cost: at most 12 steps in 3 trials; how long a step takes" in out
    assert not Path("mlruns").exists()
    run(*TPE, "--max-trials", "2")
    out = run(*plan, "--max-trials", "3")[1]
    assert "2 trials of at most 3, 2 known" in out and "Cost: at most 4 steps in 1 trial" in out
    out = run(*plan, "--budget", "1h")[1]
    assert "Cost: 4 steps in a trial" in out and "the budget of 1h is enough for about" in out
    assert "Nothing is left" in run(*plan, "--max-trials", "2")[1]
