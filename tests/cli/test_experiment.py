"""``embedsearch run`` as a user gives it, on a preset of seconds."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from embedsearch.sweep import search
from embedsearch.tracking import runs
from embedsearch.tracking.store import Store
from tests import here
from tests.cli.test_commands import run

__all__ = ["run"]

Run = Callable[..., tuple[int, str, str]]
TABLE = """
about: whether training helps
baseline: not trained
figures: {STS: test}
rows:
- {label: not trained, method: frozen, printed: {STS: 31.4}}
- {label: SCD, method: scd, values: {alpha: [0.1, 0.2]}}
- {label: SimCSE, method: simcse, printed: {STS: 74.5}}
"""
COMMAND = ("run", "table.yaml", "--preset", "tiny.yaml")


@pytest.fixture
def without_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, replaced in here.REPLACED.items():
        monkeypatch.setattr(search, name, replaced)


def table(*rows: str) -> None:
    Path("table.yaml").write_text(TABLE + "".join(f"{row}\n" for row in rows))


def printed(out: str) -> str:
    """From the table on."""
    return out[out.index("table: whether") :]


pytestmark = pytest.mark.usefixtures("without_ray")


def test_a_table_is_run_and_again_costs_nothing(run: Run) -> None:
    table()
    code, out, err = run(*COMMAND)
    assert code == 0, err
    assert "table: 4 rows, 4 trials, 0 known, 4 to run" in out
    assert "learning rate times 10 (preset tiny): SCD\n" in out
    assert out.count("(untrained") == 4
    lines = printed(out).splitlines()
    assert lines[1].startswith("preset tiny · backbone bert-")
    assert lines[3].split()[-2:] == ["baseline", "31.40"]
    assert [line.split()[0] for line in lines[3:7]] == ["not", "SCD", "SCD", "SimCSE"]
    code, again, err = run(*COMMAND)
    assert code == 0, err
    assert "4 known, 0 to run" in again and "(untrained" not in again
    assert printed(again) == printed(out)


def test_its_runs_lie_under_a_sweep_of_each_method(run: Run) -> None:
    table()
    run(*COMMAND)
    store = Store.open("mlruns")
    for method, count in (("scd", 2), ("simcse", 1), ("frozen", 1)):
        [sweep] = store.search(method, kind="sweep")
        trials = store.search(method, kind="trial")
        assert sweep.tags[runs.GRIDS] == "table" and sweep.status == "FINISHED"
        assert [run.tags[runs.PARENT] for run in trials] == [sweep.run_id] * count
    code, out, err = run("best", "--method", "scd", "--grid", "table", "--json")
    assert code == 0 and json.loads(out)["points"] == 2, err


def test_json_has_all_numbers_and_seeds_only_cost_what_is_new(run: Run) -> None:
    table()
    first = json.loads(run(*COMMAND, "--json")[1])
    code, out, err = run(*COMMAND, "--json", "--seeds", "2")
    assert code == 0 and "8 trials, 4 known, 4 to run" in err
    rows = json.loads(out)["rows"]
    for before, row in zip(first["rows"], rows, strict=True):
        assert row["seeds"] == [0, 1] and row["scores"][0] == before["score"]
        assert row["score"] == pytest.approx(sum(row["scores"]) / 2)
        assert before["sd"] is None and row["sd"] >= 0
    assert rows[0]["sd"] == 0 and rows[0]["difference"] is None
    assert rows[3]["difference"] == pytest.approx(rows[3]["score"] - rows[0]["score"])
    assert rows[2]["varies"] == {"alpha": 0.2}
    code, again, _ = run(*COMMAND, "--json", "--seeds", "2")
    assert code == 0 and again == out


def test_a_row_that_fails_or_can_not_run_is_said_and_the_others_stand(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    from embedsearch.methods.scd import SCD

    table(
        "- {label: WNet, method: simcse, values: {augment: wnet, augment_source: nowhere}}",
        "- {label: too long, method: simcse, values: {max_length: 65}}",
        "- {label: endless, method: simcse, values: {temperature: {low: 0.1, high: 1}}}",
    )
    monkeypatch.setattr(SCD, "terms", lambda self, v, b: {"x": v[0].sum() * float("nan")})
    code, out, err = run(*COMMAND)
    assert code == 0, err
    assert "failed: SCD (alpha=0.1), SCD (alpha=0.2): diverged: loss/x is not finite" in out
    assert "missing: WNet: augment wnet reads WordNet" in out
    assert "missing: too long: max_length 65 is more than the 64 tokens" in out
    assert "missing: endless: " in out and "--max-trials" in out
    row = json.loads(run(*COMMAND, "--json")[1])["rows"][3]
    assert row["label"] == "SimCSE" and row["score"] is not None


def test_stopped_it_goes_on(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def one(specs: Any, *rest: Any) -> None:
        here.run_trials(specs[:1], *rest)
        raise KeyboardInterrupt

    table()
    with monkeypatch.context() as patch:
        patch.setattr(search, "run_trials", one)
        code, out, _ = run(*COMMAND)
    assert code == 130 and "stopped: 3 trials left; give the same command again" in out
    code, out, err = run(*COMMAND)
    assert code == 0 and "1 known, 3 to run" in out, err


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("run", "tabel.yaml"), "no experiment 'tabel.yaml', perhaps 'table.yaml'"),
        (("run", "bad.yaml"), "bad.yaml, line 9, rows[3].values.alhpa: no hyperparameter 'alhpa'"),
        (("run", "table.yaml", "--corpus", "none.txt"), "none.txt"),
        (("run", "long.yaml"), "long.yaml: no row can run here: max_length 65"),
        (
            ("run", "table.yaml", "--gpus-per-trial", "1", "--trials-per-gpu", "2"),
            "give one of them",
        ),
    ],
)
def test_mistakes_are_one_sentence(words: tuple[str, ...], sentence: str, run: Run) -> None:
    table()
    row = "- {label: x, method: scd, values: {alhpa: 1}}\n"
    Path("bad.yaml").write_text(TABLE + row)
    long = "about: x\nbaseline: x\nrows: [{label: x, method: scd, values: {max_length: 65}}]"
    Path("long.yaml").write_text(long)
    code, _, err = run(*words, "--preset", "tiny.yaml")
    assert code == 2 and sentence in err
    assert "Traceback" not in err and err.count("\n") == 1
    assert not Path("mlruns").exists()


@pytest.mark.slow
def test_over_ray(run: Run) -> None:
    table()
    command = [sys.executable, "-m", "embedsearch", *COMMAND, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ.copy())
    assert done.returncode == 0, done.stderr
    assert "4 to run" in done.stderr
    assert all(row["score"] is not None for row in json.loads(done.stdout)["rows"])
    again = subprocess.run(command, capture_output=True, text=True, env=os.environ.copy())
    assert "4 known, 0 to run" in again.stderr and again.stdout == done.stdout
