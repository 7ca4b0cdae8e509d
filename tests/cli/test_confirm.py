"""``embedsearch confirm`` as a user gives it, on a preset of seconds."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from embedsearch.records import CONFIRM
from embedsearch.sweep import search
from embedsearch.tracking.ledger import StoreLedger
from embedsearch.tracking.store import Store
from tests import here
from tests.cli.test_commands import run
from tests.tracking.conftest import fresh_database, store_at

__all__ = ["fresh_database", "run", "store_at"]

Run = Callable[..., tuple[int, str, str]]
SPACE = "method: embedsearch.methods.scd:SCD\ngrids:\n  g: {values: {alpha: [0.1, 0.2, 0.3]}}\n"
SWEEP = ("sweep", "scd", "--preset", "tiny.yaml", "--json")
COMMAND = ("confirm", "scd", "--top", "2", "--seeds", "3")


@pytest.fixture(autouse=True)
def _searched(
    monkeypatch: pytest.MonkeyPatch, run: Run, store_at: Callable[[Path], Store], tmp_path: Path
) -> None:
    """Three points of one seed are on record, and nothing runs over Ray."""
    store_at(tmp_path / "mlruns")
    for name, replaced in here.REPLACED.items():
        monkeypatch.setattr(search, name, replaced)
    Path("search_spaces").mkdir()
    Path("search_spaces/scd.yaml").write_text(SPACE)
    assert run(*SWEEP)[0] == 0


def ledger() -> StoreLedger:
    return StoreLedger(Store.open("mlruns"))


def test_the_leaders_run_again_as_they_were_found_and_again_costs_nothing(run: Run) -> None:
    searched = ledger().best("scd", top=2)
    code, out, err = run(*COMMAND)
    assert code == 0, err
    assert "as found: preset tiny · backbone bert-" in out
    assert "scd: the best 2 of 3 points on dev dev" in out
    assert "again with seeds 1, 2, 3: 6 trials, 0 known, 6 to run" in out
    code, again, err = run(*COMMAND, "--json")
    assert code == 0 and "6 known, 0 to run" in err
    found = json.loads(again)
    assert sorted(row["search_score"] for row in found["points"]) == sorted(
        entry.mean for entry in searched.entries
    )
    for row in found["points"]:
        assert row["seeds"] == [1, 2, 3] and len(row["scores"]) == 3
        assert row["low"] < row["mean"] < row["high"]
    first, second = found["points"]
    assert first["verdict"] == "best" and first["name"] in found["tied"]
    assert second["difference"]["by"] == "paired bootstrap"
    assert second["difference"]["low"] <= second["difference"]["difference"]
    [spec, *_] = [ledger().spec(t.run_id) for t in ledger().trials("scd") if t.confirms]
    same = ledger().spec(next(t.run_id for t in ledger().trials("scd") if not t.confirms))
    assert replace(spec, point=same.point, seed=0) == same


def test_best_counts_the_fresh_seeds_and_says_so(run: Run) -> None:
    run(*COMMAND)
    code, out, err = run("best", "--method", "scd", "--top", "3", "--json")
    assert code == 0, err
    rows = json.loads(out)["best"]
    assert [row["confirmed"] for row in rows] == [True, True, False]
    assert all(sorted(row["seeds"]) == [1, 2, 3] for row in rows[:2])
    assert rows[2]["seeds"] == [0] and len(rows[0]["search_scores"]) == 1
    _, text, _ = run("best", "--method", "scd", "--top", "3", "--grid", "g")
    assert "confirmed: yes" in text and "confirmed: no" in text
    assert "the mean over fresh seeds, not the luckiest of the search" in text


def test_a_seed_that_a_search_takes_up_is_not_fresh_any_more(run: Run) -> None:
    run(*COMMAND)
    assert run(*SWEEP, "--seed", "2")[0] == 0
    code, out, _ = run(*COMMAND)
    assert code == 0 and "again with seeds 1, 3, 4: 6 trials" in out
    for entry in ledger().best("scd", top=3).entries:
        assert 2 not in [trial.seed for trial in entry.fresh]


def test_stopped_it_goes_on_with_the_same_leaders(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def some(specs: Any, *rest: Any) -> None:
        here.run_trials(specs[:2], *rest)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(search, "run_trials", some)
        code, out, _ = run(*COMMAND)
    assert code == 130 and "stopped: 4 trials left" in out
    code, out, err = run(*COMMAND)
    assert code == 0 and "6 trials, 2 known, 4 to run" in out, err
    assert len(Store.open("mlruns").search("scd", kind="sweep", grid=CONFIRM)) == 1


def test_an_option_changes_that_and_nothing_else(run: Run) -> None:
    code, out, err = run(*COMMAND, "--steps", "2", "--eval-steps", "1", "--top", "1")
    assert code == 0, err
    assert "2 steps, dev score every 1" in out
    [spec, *_] = [ledger().spec(t.run_id) for t in ledger().trials("scd") if t.confirms]
    same = ledger().spec(next(t.run_id for t in ledger().trials("scd") if not t.confirms))
    again = replace(spec, point=same.point, seed=0, total_steps=4, eval_steps=2)
    assert again == same
    Path("other.tsv").write_text(Path("dev.tsv").read_text() + "\n5\tA dog is here.\tA dog.")
    code, out, err = run(*COMMAND, "--dev", "other.tsv", "--top", "1")
    assert code == 0 and "dev other · cpu" in out and "4 steps" in out, err
    code, out, err = run(*COMMAND, "--preset", "tiny.yaml", "--top", "1")
    assert code == 0 and "3 trials, 0 known" in out, err


def test_a_trial_that_fails_is_said(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    from embedsearch.methods.scd import SCD

    monkeypatch.setattr(SCD, "terms", lambda self, v, b: {"x": v[0].sum() * float("nan")})
    code, out, _ = run(*COMMAND)
    assert code == 1
    assert "diverged: loss/x is not finite at step 2 (seed 1)" in out and "no score" in out


def test_mistakes_are_one_sentence(run: Run) -> None:
    def said(*words: str) -> str:
        code, _, err = run(*words)
        assert code == 2 and err.count("\n") == 1, err
        return err

    assert "no simcse trial has a score to confirm" in said("confirm", "simcse")
    assert run("train", "frozen", "--preset", "tiny.yaml")[0] == 0
    assert "does not train" in said("confirm", "frozen")
    Path("dev.tsv").rename("moved.tsv")
    assert "say where it is with --dev" in said(*COMMAND)
    Path("search_spaces/scd.yaml").write_text(SPACE.replace("g:", "confirm:"))
    assert "line 3, grids.confirm" in said(*SWEEP)


def test_an_edited_method_is_not_confirmed(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    from embedsearch.methods.scd import SCD

    monkeypatch.setattr(SCD, "revision", SCD.revision + 1)
    code, _, err = run(*COMMAND)
    assert code == 2 and "scd has changed since its trials were run" in err
