"""A space, a grid or a corpus that is not what it was: noticed, said, and only the new is run."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from embedsearch.sweep import search
from tests import here
from tests.cli.test_commands import run

__all__ = ["run"]

Run = Callable[..., tuple[int, str, str]]
SPACE = (
    "method: embedsearch.methods.scd:SCD\ngrids:\n  coarse:\n    values:\n      alpha: {alphas}\n"
)
SWEEP = ("sweep", "scd", "--grid", "coarse", "--preset", "tiny.yaml")
PLAN = ("plan", *SWEEP[1:])
SINCE = "since its earlier sweeps"


@pytest.fixture(autouse=True)
def _without_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, replaced in here.REPLACED.items():
        monkeypatch.setattr(search, name, replaced)


def space(*alphas: float) -> None:
    Path("search_spaces").mkdir(exist_ok=True)
    Path("search_spaces/scd.yaml").write_text(SPACE.format(alphas=list(alphas)))


def test_a_grown_and_shrunk_grid_runs_its_new_points(run: Run) -> None:
    space(0.1, 0.2, 0.3)
    code, out, err = run(*SWEEP)
    assert code == 0, err
    assert SINCE not in out
    assert SINCE not in run(*SWEEP)[1]
    space(0.1, 0.2, 0.4)
    code, out, err = run(*SWEEP)
    assert code == 0, err
    assert "3 trials, 2 known, 1 to run" in out
    assert f"{SINCE}: 1 new, 1 earlier one no longer in it" in out
    assert out.count("(untrained") == 1, "one trial ran"
    space(0.1)
    assert f"{SINCE}: 3 earlier ones no longer in it" in run(*PLAN)[1]


def test_a_cap_takes_nothing_out_of_a_grid(run: Run) -> None:
    space(0.1, 0.2, 0.3, 0.4)
    run(*SWEEP, "--max-trials", "3")
    assert SINCE not in run(*PLAN, "--max-trials", "2")[1]
    out = run(*PLAN)[1]
    assert "3 known, 1 to run" in out and f"{SINCE}: 1 new\n" in out


def test_what_was_stopped_is_not_new(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    space(0.1, 0.2)
    with monkeypatch.context() as patch:
        patch.setattr(search, "run_trials", stopped)
        assert run(*SWEEP)[0] == 130
    out = run(*SWEEP)[1]
    assert "0 known, 2 to run" in out and SINCE not in out


def test_another_setting_is_no_change(run: Run) -> None:
    space(0.1)
    run(*SWEEP)
    out = run(*PLAN, "--seed", "1")[1]
    assert "0 known, 1 to run" in out and SINCE not in out


def test_other_text_of_the_same_size_and_time_is_noticed(run: Run, tmp_path: Path) -> None:
    command = ("train", "scd", "--preset", "tiny.yaml", "--json")
    corpus = tmp_path / "corpus.txt"
    before = corpus.stat()
    first = json.loads(run(*command)[1])
    corpus.write_text(corpus.read_text().replace("quiet", "noisy"))
    os.utime(corpus, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert (corpus.stat().st_size, corpus.stat().st_mtime_ns) == (
        before.st_size,
        before.st_mtime_ns,
    )
    code, out, err = run(*command)
    assert code == 0 and "0 known, 1 to run" in err
    assert json.loads(out)["best"]["spec_id"] != first["best"]["spec_id"]


@pytest.mark.parametrize("name", ["../x", "/etc/passwd", "", ".", "scd/../../x", "a\nb"])
def test_names_that_lead_elsewhere_are_refused(name: str, run: Run, tmp_path: Path) -> None:
    for words in (("sweep", name), ("train", name), ("plan", "scd", "--grid", name)):
        code, _, err = run(*words, "--preset", "tiny.yaml")
        assert code == 2 and "Traceback" not in err, err
    assert not (tmp_path / "mlruns").exists()
