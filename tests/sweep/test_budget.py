"""What a sweep may cost, and how that is counted."""

import pytest

from embedsearch.errors import UserError
from embedsearch.records import Spent
from embedsearch.sweep.budget import Budget, Meter


@pytest.mark.parametrize(
    ("written", "device", "found"),
    [
        ("200trials", "cpu", Budget("200trials", trials=200)),
        ("1 trial", "cuda", Budget("1 trial", trials=1)),
        ("90min", "cpu", Budget("90min", seconds=5400)),
        ("1.5h", "cpu", Budget("1.5h", seconds=5400)),
        ("40gpu-h", "cuda", Budget("40gpu-h", device_seconds=144_000)),
        ("2device-min", "cuda", Budget("2device-min", device_seconds=120)),
        ("2CPU-h", "cpu", Budget("2CPU-h", device_seconds=7200)),
    ],
)
def test_what_is_written(written: str, device: str, found: Budget) -> None:
    assert Budget.parse(written, device) == found


@pytest.mark.parametrize("written", ["", "2", "h", "0h", "-2h", "1.5trials", "2 weeks", "2hh"])
def test_what_is_no_budget(written: str) -> None:
    with pytest.raises(UserError, match="give a number of trials"):
        Budget.parse(written, "cpu")


def test_devices_that_trials_do_not_hold() -> None:
    with pytest.raises(UserError, match="hold no gpus, count cpus"):
        Budget.parse("40gpu-h", "cpu")


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_each_trial_counts_from_its_begin_to_its_end() -> None:
    clock = Clock()
    meter = Meter(2.0, Spent(3, 10.0, 20.0), Budget.parse("1min", "cpu"), clock)
    assert meter.spent == Spent(3, 10.0, 20.0)
    meter.begin("a")
    clock.now = 10.0
    meter.begin("b")
    clock.now = 15.0
    assert meter.end("a") == 30.0
    meter.count("a")
    assert meter.end("a") == 0.0, "it holds nothing any more"
    assert meter.spent == Spent(4, 25.0, 20.0 + 30.0 + 10.0), "b has not come to its end"
    assert not meter.is_over
    clock.now = 50.0
    assert meter.is_over and meter.spent.seconds == 60.0


def test_what_a_lost_worker_held_is_charged_too() -> None:
    clock = Clock()
    meter = Meter(1.0, clock=clock)
    meter.begin("a")
    clock.now = 4.0
    meter.begin("a")
    clock.now = 10.0
    meter.end("a")
    meter.count("a")
    assert meter.spent == Spent(1, 10.0, 10.0)


def test_a_bound_on_trials_ends_none_that_runs() -> None:
    budget = Budget.parse("2trials", "cpu")
    assert not budget.is_spent(Spent(5, 1e9, 1e9))
    assert budget.left(Spent(1)) == "1 of 2 trials"
