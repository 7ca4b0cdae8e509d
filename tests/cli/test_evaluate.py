"""``embedsearch evaluate``: targets, what is missing, what is kept and what goes on record."""

from __future__ import annotations

import errno
import json
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from embedsearch.cli import main
from embedsearch.encoder.model import Encoder
from embedsearch.evaluation.tasks import KINDS
from embedsearch.evaluation.tasks.sts import Similarity
from embedsearch.tracking import evaluations
from embedsearch.tracking.store import Store
from tests.evaluation.tasks.test_sts import make_year

Make = Callable[..., Any]
Evaluate = Callable[..., tuple[int, Any, str]]
PAIRS = (
    "A bird sings.\tA bird is singing.\nA man runs.\tThe sea.\nA red car.\tA car.\n",
    "5\n0\n3\n",
)


@pytest.fixture
def evaluate(make_backbone: Make, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Evaluate:
    """On a tiny backbone and STS12 of three pairs: exit code, its JSON, errors."""
    make_year(tmp_path / "data", a=PAIRS)
    backbone = str(make_backbone("bert"))

    def run(*words: str, target: str = backbone, tasks: str = "sts12") -> tuple[int, Any, str]:
        capsys.readouterr()
        with pytest.raises(SystemExit) as end:
            main(["evaluate", target, "--tasks", tasks, "--data", "data", "--json", *words])
        said = capsys.readouterr()
        assert "Traceback" not in said.err
        found = json.loads(said.out)["evaluations"][0] if said.out else None
        return int(end.value.code or 0), found, said.err

    return run


def test_scores_are_printed_and_on_record(evaluate: Evaluate, tmp_path: Path) -> None:
    code, told, _ = evaluate("--pooling", "mean", "--csv", "scores.csv")
    assert code == 0
    [task] = told["tasks"]
    assert (task["name"], task["headline"]) == ("sts12", "all")
    assert "Spearman" in task["protocol"]
    assert told["averages"]["avg5"]["reason"] == "1 of 5, without sts13, sts14, sts15, sts16"
    assert (tmp_path / "scores.csv").read_text().startswith("target,task,kind,score,value")
    [run] = Store.open().search("evaluations")
    assert run.metrics["test/sts12/all"] == task["scores"][0]["value"]


def test_a_second_call_encodes_nothing(evaluate: Evaluate, monkeypatch: pytest.MonkeyPatch) -> None:
    first = evaluate("--pooling", "mean")[1]["tasks"][0]["scores"]

    def never(*_: object) -> None:
        raise AssertionError("all texts are known")

    monkeypatch.setattr(Encoder, "load", never)
    assert evaluate("--pooling", "mean")[1]["tasks"][0]["scores"] == first


def test_a_second_call_scores_nothing(evaluate: Evaluate, monkeypatch: pytest.MonkeyPatch) -> None:
    first = evaluate("--pooling", "mean")[1]

    def never(*_: object) -> None:
        raise AssertionError("it is on record")

    monkeypatch.setattr(Similarity, "score", never)
    code, again, err = evaluate("--pooling", "mean")
    assert (code, again) == (0, first)
    assert "sts12 is on record" in err
    assert evaluations.looks(Store.open()) == {"sts12": 1}
    assert len({run.metrics["test/sts12/all"] for run in Store.open().search("evaluations")}) == 1


KILLED = """
import os, signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # what started the tests may ignore it
from embedsearch.cli import main
from embedsearch.evaluation.tasks import KINDS
from embedsearch.evaluation.tasks.sts import Similarity

score = Similarity.score

def killed(self, subject):
    if self.name == "sts13":
        os.kill(os.getpid(), signal.{0})
    return score(self, subject)

Similarity.score = killed
main({1})
"""


@pytest.mark.parametrize(("name", "code"), [("SIGKILL", -signal.SIGKILL), ("SIGINT", 130)])
def test_a_kill_between_two_tasks_loses_nothing_of_the_first(
    name: str, code: int, evaluate: Evaluate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_year(tmp_path / "data", 13, a=PAIRS)
    words = ["--pooling", "mean", "--tasks", "sts12,sts13", "--data", "data"]
    backbone = str(next(tmp_path.glob("**/config.json")).parent)
    program = KILLED.format(name, ["evaluate", backbone, *words])
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == code, done.stderr
    assert ("stopped: 1 of 2 tasks on record" in done.stderr) == (name == "SIGINT")
    [run] = Store.open().search("evaluations")
    assert "test/sts12/all" in run.metrics and "test/sts13/all" not in run.metrics
    scored = []
    score = Similarity.score
    monkeypatch.setattr(
        Similarity, "score", lambda task, of: scored.append(task.name) or score(task, of)
    )
    ended, told, _ = evaluate("--pooling", "mean", tasks="sts12,sts13")
    assert (ended, scored) == (0, ["sts13"])
    assert [task["name"] for task in told["tasks"]] == ["sts12", "sts13"]
    assert told["tasks"][0]["scores"][0]["value"] == run.metrics["test/sts12/all"]


def test_several_encoders_are_scored_one_after_another(
    evaluate: Evaluate, make_backbone: Make, tmp_path: Path
) -> None:
    other = str(make_backbone("distilbert"))
    assert evaluate(other, "--pooling", "mean", "--csv", "scores.csv")[0] == 0
    rows = (tmp_path / "scores.csv").read_text().splitlines()[1:]
    assert len({row.split(",")[0] for row in rows}) == 2
    assert len(Store.open().search("evaluations")) == 2


def test_figures_are_written_and_kept(evaluate: Evaluate, tmp_path: Path) -> None:
    (tmp_path / "nli.tsv").write_text(
        "entailment\tA man runs.\tA man moves.\ncontradiction\tA man runs.\tA man sleeps.\n"
    )
    tasks = f"inference:{tmp_path / 'nli.tsv'}"
    assert evaluate("--pooling", "mean", "--figures", "seen", tasks=tasks)[0] == 0
    [figure] = (tmp_path / "seen").iterdir()
    [kept] = (tmp_path / "mlruns").rglob("figures/*.png")
    assert kept.read_bytes() == figure.read_bytes()
    assert evaluate("--pooling", "mean", "--figures", "again", tasks=tasks)[0] == 0
    assert (tmp_path / "again" / figure.name).is_file(), "what it is drawn from is not on record"


def test_scores_are_printed_where_the_record_fails(
    make_backbone: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", "mlruns")

    make_year(tmp_path / "data", a=PAIRS)
    monkeypatch.setattr("embedsearch.tracking.evaluations.Record.keep", full)
    backbone = str(make_backbone("bert"))
    with pytest.raises(SystemExit) as end:
        main(["evaluate", backbone, "--tasks", "sts12", "--data", "data", "--pooling", "mean"])
    said = capsys.readouterr()
    assert end.value.code == 2
    assert "sts12: all: Spearman" in said.out
    assert "No space left on device: 'mlruns'; make room or mend that, and give" in said.err


def test_no_figure_is_said_to_be_none(evaluate: Evaluate) -> None:
    code, _, err = evaluate("--pooling", "mean", "--figures", "seen")
    assert (code, err.splitlines()[-1]) == (0, "figure: none, for none of these tasks has one")


def test_another_pooling_is_another_encoder(evaluate: Evaluate) -> None:
    one, two = (evaluate("--pooling", pooling)[1] for pooling in ("mean", "cls"))
    assert one["key"] != two["key"]
    assert one["tasks"][0]["scores"] != two["tasks"][0]["scores"]


def test_missing_data_is_one_line_and_the_rest_is_scored(evaluate: Evaluate) -> None:
    code, told, _ = evaluate("--pooling", "mean", tasks="sts12,stsb")
    assert code == 0
    assert [item["name"] for item in told["missing"]] == ["stsb"]


@pytest.mark.parametrize(
    ("words", "options", "error"),
    [
        (["--pooling", "mean"], {"tasks": "stsb"}, "no task can run: stsb: no STS/STSBenchmark"),
        (["--pooling", "mean"], {"tasks": "sts99"}, "there is no task 'sts99'"),
        (["--pooling", "mean"], {"target": "./nowhere"}, "there is no such folder"),
        ([], {"target": "runs:/abcdef"}, "no trial in"),
        ([], {"target": "runs:/x"}, "'x' is no run id"),
        (["--pooling", "mean", "--device", "cuda"], {}, "there is no GPU here"),
        (["--pooling", "mean", "--device", "tpu"], {}, "no device 'tpu': take auto, cpu or cuda"),
        (["--pooling", "mean", "--precision", "fp16"], {}, "no precision 'fp16': take auto, fp32"),
        (["--pooling", "mean", "--csv", "data"], {}, "--csv data is a folder: name a file"),
        (["--pooling", "mean", "--figures", "a.png"], {}, "--figures a.png is no folder: name one"),
        (["--pooling", "max"], {}, "no pooling 'max': take one of cls, eos, mean, first_last"),
        ([], {}, "has no pooling of its own: say --pooling cls or mean"),
        ([], {"target": ""}, "a target is empty"),
        ([], {"target": "."}, "there is no config.json in it"),
    ],
)
def test_a_mistake_is_one_sentence(
    words: list[str], options: dict[str, str], error: str, evaluate: Evaluate, tmp_path: Path
) -> None:
    import torch

    if "cuda" in words and torch.cuda.is_available():
        pytest.skip("there is a GPU")
    (tmp_path / "a.png").touch()
    code, told, err = evaluate(*words, **options)
    assert (code, told) == (2, None)
    [said] = err.splitlines()
    assert error in said
    assert not (tmp_path / "mlruns").exists()


@pytest.fixture
def run_id(make_backbone: Make) -> str:
    """A trial of the store, whose own pooling is the mean."""
    words = ["train", "frozen", "pooling=mean", "--preset", "demo", "--json"]
    with pytest.raises(SystemExit):
        main([*words, "--backbone", str(make_backbone("bert"))])
    [trial] = Store.open().search("frozen", kind="trial")
    return trial.run_id


def test_another_pooling_is_not_the_trials_score(evaluate: Evaluate, run_id: str) -> None:
    code, told, _ = evaluate("--pooling", "cls", target=run_id)
    assert (code, told["target"]) == (0, run_id)
    assert "cls pooling, not its own mean" in told["encoder"]
    [trial] = Store.open().search("frozen", kind="trial")
    assert not [name for name in trial.metrics if name.startswith("test/")]
    assert len(Store.open().search("evaluations")) == 1
    same, own = (evaluate(*words, target=run_id)[1] for words in (("--pooling", "mean"), ()))
    assert (same["key"], same["encoder"]) == (own["key"], own["encoder"])
    [trial] = Store.open().search("frozen", kind="trial")
    assert trial.tags["embedsearch.looks"] == "1"


def test_a_trial_of_the_store_is_found_by_its_id(evaluate: Evaluate, run_id: str) -> None:
    [trial] = Store.open().search("frozen", kind="trial")
    for name in (trial.run_id, f"runs:/{trial.run_id}", trial.run_id[:8]):
        code, told, err = evaluate(target=name)
        assert (code, told["target"]) == (0, trial.run_id), err
    [trial] = Store.open().search("frozen", kind="trial")
    assert trial.metrics["test/sts12/all"] == told["tasks"][0]["scores"][0]["value"]
    assert trial.tags["embedsearch.looks"] == "1"


def test_the_kinds_are_listed_with_their_files(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["evaluate", "--list-kinds"])
    lines = capsys.readouterr().out.splitlines()
    assert not end.value.code
    assert [line.split()[0] for line in lines] == list(KINDS)
    assert "map            a text in each line; task.yaml may have clusters" in lines
