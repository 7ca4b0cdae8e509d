"""A trial of several processes over a real Ray."""

import os
import signal
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from embedsearch import remains
from embedsearch.errors import UserError
from embedsearch.place import Place
from embedsearch.records import Measurement, Status, TrialSpec
from embedsearch.sweep import search
from tests.conftest import make_point
from tests.sweep.test_search import BEFORE, Notes, listeners

CLUSTER = search.Cluster(cpus_per_trial=2)


@dataclass(frozen=True)
class _OfTwo(search.Cluster):
    """One whose trials are of two processes without a GPU."""

    @property
    def processes(self) -> int:
        return 2


TWO = _OfTwo(cpus_per_trial=2)


def kill_a_rank() -> None:
    """Kill -9 the last Ray worker of this machine that trains a part of a trial."""
    numbers = [int(process.name) for process in Path("/proc").iterdir() if process.name.isdigit()]
    ranks = [number for number in numbers if b"RayTrainWorker" in title(number)]
    os.kill(max(ranks), signal.SIGKILL)


def title(number: int) -> bytes:
    try:
        return Path(f"/proc/{number}/cmdline").read_bytes()
    except OSError:
        return b""


class Killer(Notes):
    """Kills a rank once, at a step, and notes what listens."""

    def __init__(self, step: int) -> None:
        super().__init__()
        self.step, self.listeners = step, set[str]()

    def measured(self, spec: TrialSpec, measurement: Measurement) -> None:
        super().measured(spec, measurement)
        self.listeners |= listeners()
        if measurement.step == self.step:
            self.step = -1
            kill_a_rank()


@pytest.mark.slow
def test_ranks_wait_for_what_others_hold_and_say_so(
    make_setting: Callable[..., Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = make_setting(ranks=2, threads=2).spec(make_point())
    place = Place(tmp_path / "storage")
    waiting = replace(TWO, patience=search.Patience(notice_s=4, busy_s=15))
    with search.connected(TWO) as resources:
        import ray

        holder = ray.remote(num_cpus=resources["CPU"] - 1)(Notes).remote()
        ray.get(holder.__ray_ready__.remote())
        with pytest.raises(
            UserError, match=r"wants 2 processes of 1 CPU, and 0\.999 of .* CPU are"
        ):
            search.run_trials([spec], place, waiting, Notes())
        assert "s no trial has started: each wants 2 processes" in capsys.readouterr().err


@pytest.mark.slow
def test_two_ranks_train_one_trial(make_setting: Callable[..., Any], tmp_path: Path) -> None:
    """One that loses a rank goes on from its state and ends as if nothing had been; what has
    another result tells it; beside them run trials of one process; all listen on loopback."""
    place = Place(tmp_path / "storage", save_s=0)
    setting = make_setting(ranks=2, threads=2, steps=24)
    whole, killed = (setting.spec(make_point(alpha=alpha)) for alpha in (0.1, 0.2))
    bad = replace(whole, seed=1, dev=replace(whole.dev, location="/nowhere", fingerprint="gone"))
    alone = setting.spec(make_point("frozen"))
    assert (whole.ranks, alone.ranks) == (2, 1)
    notes = Killer(step=8)
    with search.connected(CLUSTER):
        results = search.run_trials([bad, killed, alone], place, CLUSTER, notes)
        again = search.run_trials([killed], Place(tmp_path / "other"), CLUSTER, Notes())
    assert notes.step == -1
    assert results[bad.id].status is Status.FAILED and "/nowhere" in results[bad.id].reason
    assert results[alone.id].status is Status.FINISHED
    assert results[killed.id].status is Status.FINISHED, results[killed.id].reason
    assert results[killed.id].best_score == again[killed.id].best_score
    assert notes.listeners <= BEFORE
    assert remains.finished(place.work(killed.id)) == results[killed.id]
    assert not (place.work(killed.id) / "ray").exists()
