"""The benchmarks still run; what they measure stands nowhere in a test."""

import os
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from embedsearch.encoder.backbone import describe
from experiments.benchmarks import (
    commands,
    evaluation,
    memory,
    methods,
    mining,
    scale,
    suite,
    training,
    transfer,
)
from experiments.benchmarks.backbone import made, make_backbone
from experiments.benchmarks.row import Inputs, Row
from tests.cli.test_evaluate import PAIRS
from tests.evaluation.tasks.test_sts import make_year

TINY = Inputs(steps=2, repeats=1, threads=1)


@pytest.mark.parametrize("rows", [training.rows, evaluation.rows])
def test_beside_sentence_transformers(rows: Callable[[Inputs], Iterator[Row]]) -> None:
    [row] = rows(TINY)
    assert float(row.ratio.removesuffix("x")) > 0


def test_the_suite_beside_its_peers(tmp_path: Path) -> None:
    """Which score the same, or there is no row."""
    assert list(suite.rows(TINY)) == []
    make_year(tmp_path, a=PAIRS)
    peer, loop, again = suite.rows(replace(TINY, data=str(tmp_path)))
    assert "1 STS tasks" in peer.what and "SentEval" in loop.peer and again.ratio.endswith("%")


def test_every_method_takes_a_step_beside_simcse() -> None:
    """A T5's own beside SimCSE on a T5."""
    rows = list(methods.rows(TINY))
    told = [row.what.split()[3] + " " + row.what.split(", ")[-3] for row in rows]
    alone = [f"{name} nano" for name in methods.methods() if name != "gur"]
    assert told == [*alone, "simcse nano-t5", "gur nano-t5"]
    assert told[0] == "simcse nano" and rows[0].ratio == "1.00x"
    assert all(float(row.ratio.removesuffix("x")) > 0 for row in rows)


@pytest.mark.parametrize("name", ["bert-1x64", "t5-1x64"])
def test_a_backbone_of_a_size_is_made_for_the_time_being(name: str) -> None:
    with made(name) as folder:
        facts = describe(str(folder))
        assert (facts.architecture, facts.layers, facts.dim) == (name[: name.index("-")], 1, 64)
    assert not Path(str(folder)).exists()


@pytest.mark.parametrize("name", ["bert-base", "nano", None])
def test_any_other_name_stays(name: str | None) -> None:
    with made(name) as found:
        assert found == name


@pytest.mark.slow
def test_commands_on_a_store() -> None:
    rows = list(commands.rows(TINY, trials=3))
    assert len(rows) == 5
    assert all(float(row.ours.removesuffix(" s")) > 0 for row in rows)


def test_mining_beside_an_automaton(tmp_path: Path) -> None:
    """Which finds the same, or there is no row."""
    lines = [
        "长江\n长江是大河，在中国。中国有大河。",
        "River Po\nThe river Po. Po, the river; river Po!",
    ]
    (tmp_path / "two.txt").write_text("\n\n".join(lines), encoding="utf-8")
    overlaps, whole = mining.rows(replace(TINY, documents=str(tmp_path / "two.txt")))
    assert "2 documents (5 pairs, the same" in overlaps.what
    assert "pairs and titles" in whole.what


def test_transfer_beside_senteval(tmp_path: Path) -> None:
    (tmp_path / "TREC").mkdir()
    lines = [f"{kind}:x {kind} {n}\n" for n in range(10) for kind in ("NUM", "LOC")]
    for name in ("train_5500.label", "TREC_10.label"):
        (tmp_path / "TREC" / name).write_text("".join(lines))
    trec, mean = transfer.rows(replace(TINY, data=str(tmp_path)))
    assert trec.what == "trec, nano" and trec.goal.endswith("10x")
    assert mean.what == "mean of 1 transfer tasks, nano"
    assert not list(transfer.rows(TINY))


@pytest.mark.slow
def test_a_large_sweep_in_small() -> None:
    """On both sides all trials end, in workers without torch, or there is no row."""
    rows = list(scale.rows(replace(TINY, trials=8, gpus=4, wait=0.5)))
    assert "8 trials of 20 reports" in rows[0].what and rows[0].goal == "1 s of waiting"
    assert all("by Tune alone" in row.peer for row in rows[:7])
    assert "store" in rows[7].what and [row.goal for row in rows[8:]] == ["at most +10 s"] * 2


@pytest.mark.slow
def test_memory_of_a_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "SHORT", 64)
    monkeypatch.setattr(memory, "LONG", 200)
    peak, again = memory.rows(TINY)
    assert "200 lines" in peak.what and "second sweep" in again.what


@pytest.mark.slow
def test_a_backbone_of_any_size_trains(tmp_path: Path) -> None:
    make_backbone(tmp_path, layers=1, dim=64)
    _, made = training.rows(Inputs(str(tmp_path), steps=2, repeats=1, threads=1))
    assert tmp_path.name in made.what


@pytest.mark.slow
def test_the_gpu_script_without_a_gpu() -> None:
    script = ["bash", "experiments/benchmarks/gpu.sh", "cpu", "1", "64", "4"]
    done = subprocess.run(
        script,
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        env={**os.environ, "NO_COLOR": "1"},
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("Best of 1") == 2
    assert "Best of 4" in done.stdout
    assert "sentences/s" in done.stdout
