"""Trials over a real Ray on this machine."""

import os
import signal
import socket
import struct
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from embedsearch import trial
from embedsearch.errors import UserError
from embedsearch.place import Place
from embedsearch.records import Measurement, Status, Sweep, TrialResult, TrialSpec
from embedsearch.sweep import search
from tests.conftest import make_point

Make = Callable[..., Any]
CLUSTER = search.Cluster(cpus_per_trial=1)


class Notes:
    """An observer that writes down what it is told."""

    def __init__(self, then: Callable[[], None] = lambda: None) -> None:
        self.events: list[tuple[str, str]] = []
        self.steps: dict[str, list[int]] = {}
        self.then = then

    def sweep_started(self, sweep: Sweep, reused: Mapping[str, TrialResult]) -> None: ...

    def trial_started(self, spec: TrialSpec) -> None:
        self.events.append(("started", spec.id))

    def measured(self, spec: TrialSpec, measurement: Measurement) -> None:
        self.steps.setdefault(spec.id, []).append(measurement.step)

    def trial_ended(self, spec: TrialSpec, result: TrialResult) -> None:
        self.events.append(("ended", spec.id))
        self.then()

    def sweep_ended(self, sweep: Sweep, results: Mapping[str, TrialResult]) -> None: ...


@pytest.fixture(scope="module")
def ray() -> Iterator[Mapping[str, float]]:
    with search.connected(CLUSTER) as resources:
        yield resources


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path / "storage")


def specs(make_setting: Make, alphas: tuple[float, ...], **changes: Any) -> list[TrialSpec]:
    setting = make_setting(**changes)
    return [setting.spec(make_point(alpha=alpha)) for alpha in alphas]


def listeners() -> set[str]:
    """Addresses that something of this machine listens on, but for loopback."""
    found = set()
    for table, family in (("tcp", socket.AF_INET), ("tcp6", socket.AF_INET6)):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            address, state = line.split()[1], line.split()[3]
            if state == "0A":
                raw = bytes.fromhex(address.split(":")[0])
                words = struct.unpack(f"<{len(raw) // 4}I", raw)
                ip = socket.inet_ntop(family, struct.pack(f">{len(words)}I", *words))
                if not ip.startswith("127.") and ip not in ("::1", "::ffff:127.0.0.1"):
                    found.add(f"{ip}:{int(address.split(':')[1], 16)}")
    return found


def test_results_come_back_as_they_happened(
    ray: Mapping[str, float], make_setting: Make, place: Place
) -> None:
    wanted = specs(make_setting, (0.1, 0.2, 0.3))
    notes = Notes()
    results = search.run_trials(wanted, place, CLUSTER, notes)
    assert {spec.id for spec in wanted} == set(results)
    assert {r.status for r in results.values()} == {Status.FINISHED}, results
    assert all(notes.steps[spec.id] == [0, 2, 4] for spec in wanted)
    for spec in wanted:
        assert notes.events.index(("started", spec.id)) < notes.events.index(("ended", spec.id))
        alone = trial.run(spec, Place(place.storage / "alone"), lambda _: None)
        assert alone.best_score == results[spec.id].best_score


def test_one_bad_trial_does_not_stop_the_others(
    ray: Mapping[str, float], make_setting: Make, place: Place
) -> None:
    good, bad = specs(make_setting, (0.1, 0.2))
    bad = replace(bad, dev=replace(bad.dev, location="/nowhere", fingerprint="gone"))
    results = search.run_trials([bad, good], place, CLUSTER, Notes())
    assert results[good.id].status is Status.FINISHED
    assert results[bad.id].status is Status.FAILED and "/nowhere" in results[bad.id].reason


def test_killed_worker_goes_on(ray: Mapping[str, float], make_setting: Make, place: Place) -> None:
    """Ray starts the trial again, and its numbers are those of one that was left alone."""
    [spec] = specs(make_setting, (0.4,), steps=40, eval_steps=4)
    killed: list[int] = []

    class Killer(Notes):
        def measured(self, spec: TrialSpec, measurement: Measurement) -> None:
            super().measured(spec, measurement)
            if measurement.step == 8 and not killed:
                killed.extend(kill_workers())

    notes = Killer()
    results = search.run_trials([spec], place, CLUSTER, notes)
    assert killed
    assert results[spec.id].status is Status.FINISHED
    alone = trial.run(spec, Place(place.storage / "alone"), lambda _: None)
    assert results[spec.id].best_score == alone.best_score


def kill_workers() -> list[int]:
    """Kill -9 every Ray worker of this machine that runs a trial."""
    victims = []
    for process in Path("/proc").iterdir():
        if process.name.isdigit():
            try:
                title = (process / "cmdline").read_bytes()
            except OSError:
                continue
            if b"ray::" in title and b"ImplicitFunc" in title:
                os.kill(int(process.name), signal.SIGKILL)
                victims.append(int(process.name))
    return victims


def test_a_trial_waits_for_what_others_hold_and_says_so(
    ray: Mapping[str, float],
    make_setting: Make,
    place: Place,
    capsys: pytest.CaptureFixture[str],
) -> None:
    import ray as of_ray

    holder = of_ray.remote(num_cpus=ray["CPU"])(Notes).remote()
    of_ray.get(holder.__ray_ready__.remote())
    waiting = replace(CLUSTER, patience=search.Patience(notice_s=0.5, busy_s=3))
    with pytest.raises(UserError, match=r"each wants 1 CPU, and 0 of .* CPU are free"):
        search.run_trials(specs(make_setting, (0.1,)), place, waiting, Notes())
    assert "s no trial has started: each wants 1 CPU" in capsys.readouterr().err
    of_ray.kill(holder)
    [result] = search.run_trials(specs(make_setting, (0.1,)), place, CLUSTER, Notes()).values()
    assert result.status is Status.FINISHED


@pytest.mark.parametrize("error", [UserError("the store is full"), KeyError("a slip of ours")])
def test_an_error_of_ours_is_shown_as_what_it_is(
    error: Exception, ray: Mapping[str, float], make_setting: Make, place: Place
) -> None:
    def fail() -> None:
        raise error

    with pytest.raises(type(error)) as raised:
        search.run_trials(specs(make_setting, (0.1, 0.2)), place, CLUSTER, Notes(then=fail))
    assert raised.value is error


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_cleanly(
    number: int, ray: Mapping[str, float], make_setting: Make, place: Place
) -> None:
    wanted = specs(make_setting, (0.1, 0.2, 0.3, 0.4))
    results = search.run_trials(
        wanted, place, CLUSTER, Notes(then=lambda: os.kill(os.getpid(), number))
    )
    assert 1 <= len(results) < len(wanted)


def test_everything_listens_on_loopback(ray: Mapping[str, float]) -> None:
    time.sleep(1)
    assert listeners() <= BEFORE


BEFORE = listeners()


def test_too_large_a_trial_is_one_sentence() -> None:
    with pytest.raises(
        UserError, match="wants 3 CPU, and the cluster has 2: lower --cpus-per-trial"
    ):
        search.trials_at_once({"CPU": 2}, search.Cluster(cpus_per_trial=3))
    with pytest.raises(UserError, match="wants 1 GPU, and the cluster has 0"):
        search.trials_at_once({"CPU": 2}, search.Cluster(gpus_per_trial=1))


def test_fractions_of_a_gpu_count() -> None:
    cluster = search.Cluster(cpus_per_trial=1, gpus_per_trial=0.25)
    assert search.trials_at_once({"CPU": 16, "GPU": 2}, cluster) == 8


def test_draws_repeat_for_a_seed() -> None:
    from itertools import islice

    from embedsearch.sweep.axis import Choice, Range

    axes = {"a": Range(0.001, 1, log=True), "b": Choice((1, 2)), "n": Range(2, 9, integer=True)}
    first, second = (list(islice(search.draw(axes, 3), 20)) for _ in range(2))
    assert first == second != list(islice(search.draw(axes, 4), 20))
    assert all(0.001 <= d["a"] <= 1 and d["b"] in (1, 2) and 2 <= d["n"] <= 9 for d in first)  # type: ignore[operator]


def test_no_cluster_is_one_sentence() -> None:
    with (
        pytest.raises(UserError, match="no Ray cluster answers"),
        search.connected(search.Cluster("127.0.0.1:1")),
    ):
        pass
