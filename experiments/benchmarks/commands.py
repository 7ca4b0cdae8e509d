"""What the commands cost: their imports, and a store of many trials."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from statistics import median

from embedsearch.cli.layout import make_job
from embedsearch.cli.options import Choices
from embedsearch.records import Point, Status, Sweep, TrialResult, TrialSpec
from embedsearch.tracking.ledger import StoreLedger
from embedsearch.tracking.store import Store
from embedsearch.tracking.writer import Writer
from experiments.benchmarks.row import Inputs, Row

MANY = 10_000


def rows(inputs: Inputs, trials: int = MANY) -> Iterator[Row]:
    """Wall seconds of whole commands, on an empty and on a large store."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for command in (["--help"], ["best", "--method", "scd"]):
            seconds = wall(folder, inputs.repeats, *command)
            yield Row(f"embedsearch {' '.join(command)}", f"{seconds:.2f} s", "", "", "2 s")
        begun = time.perf_counter()
        _fill(folder, trials)
        filled = time.perf_counter() - begun
        for command, goal in (
            (["best", "--method", "scd"], "at most +0.5 s"),
            (["plan", "scd", "--max-trials", "9"], "at most +0.5 s"),
            (["compare", "scd"], "at most +10 s"),
        ):
            large = wall(folder, inputs.repeats, *command)
            empty = wall(folder / "empty", inputs.repeats, *command)
            yield Row(
                f"embedsearch {command[0]}, {trials:,} trials (written in {filled:.0f} s)",
                f"{large:.2f} s",
                f"{empty:.2f} s on an empty store",
                f"+{large - empty:.2f} s",
                goal,
            )


def wall(folder: Path, repeats: int, *words: str) -> float:
    """Seconds of a whole command in ``folder``, the median."""
    folder.mkdir(parents=True, exist_ok=True)
    seconds = []
    for _ in range(repeats):
        begun = time.perf_counter()
        command = [sys.executable, "-m", "embedsearch", *words]
        done = subprocess.run(command, cwd=folder, capture_output=True, check=False)
        seconds.append(time.perf_counter() - begun)
        assert b"Traceback" not in done.stderr, done.stderr.decode()
    return median(seconds)


def _fill(folder: Path, trials: int) -> None:
    """A store with ``trials`` finished trials of made-up scores under one sweep."""
    store = Store.open(str(folder / "mlruns"))
    choices = Choices("scd", grid="log", preset="demo", storage=str(folder / ".embedsearch"))
    model = make_job(choices, StoreLedger(store), gpus=0).sweep.specs[0]
    specs = tuple(variant(model, place / trials) for place in range(trials))
    writer = Writer(store, keep=5)
    sweep = Sweep("scd", "log", "demo", specs)
    writer.sweep_started(sweep, {})
    results = {}
    for place, spec in enumerate(specs):
        writer.trial_started(spec)
        results[spec.id] = TrialResult(
            spec.id, Status.FINISHED, "", 50.0, 50 + place / trials, 80, (), 9.0, 9.0
        )
        writer.trial_ended(spec, results[spec.id])
    writer.sweep_ended(sweep, results)


def variant(spec: TrialSpec, alpha: float) -> TrialSpec:
    """``spec`` at another point."""
    point = spec.point
    values = {**point.values, "alpha": alpha}
    return replace(spec, point=Point(point.method, point.target, values))
