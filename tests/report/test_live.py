"""What a sweep shows while it runs."""

import io
from dataclasses import replace

import pytest
from rich.console import Console

from embedsearch.labels import assigned, duration, labels
from embedsearch.records import Measurement, Point, Source, Status, Sweep, TrialResult, TrialSpec
from embedsearch.report.live import Board, LiveView, PlainView

NONE = Source("", "", "none")


def spec(alpha: float, seed: int = 0) -> TrialSpec:
    point = Point("scd", "m:C", {"alpha": alpha, "batch_size": 4})
    return TrialSpec(point, seed, "demo", NONE, NONE, NONE, 80, 20, "cpu", "fp32", 1)


SPECS = (spec(0.1), spec(0.2), spec(1 / 3))
SWEEP = Sweep("scd", "coarse", "demo", SPECS)


def ended(which: TrialSpec, score: float | None, reason: str = "") -> TrialResult:
    status = Status.FINISHED if score is not None else Status.DIVERGED
    return TrialResult(which.id, status, reason, 50.0, score, 20 if score is not None else None)


def test_labels_name_what_varies() -> None:
    assert list(labels(SPECS).values()) == ["alpha=0.1", "alpha=0.2", "alpha=0.333333"]
    assert list(labels([spec(0.1), spec(0.1, 7)]).values()) == ["seed=0", "seed=7"]
    assert list(labels([spec(0.1)]).values()) == ["scd"]
    assert assigned({"b": 3e-05, "a": True}, ["a", "b", "c"]) == "a=True b=3e-05"


def test_sweeps_of_one_command_are_counted_together_under_given_names() -> None:
    view = Board(Console(), 1, names={SPECS[0].id: "the first"})
    view.sweep_started(Sweep("scd", "table", "demo", SPECS[:2]), {})
    other = Sweep("scd", "other", "demo", SPECS[2:])
    view.sweep_started(other, {SPECS[2].id: ended(SPECS[2], 51.0)})
    assert view.line().startswith("1/3 done") and view.names[SPECS[0].id] == "the first"
    assert view.names[SPECS[1].id] == "alpha=0.2"


def test_a_budget_of_trials_is_what_there_is_to_do() -> None:
    view = Board(Console(), 1, seconds_per_trial=30)
    view.sweep_started(replace(SWEEP, limit=2), {SPECS[0].id: ended(SPECS[0], 51.0)})
    assert view.line().startswith("1/2 done") and view.seconds_left == 30
    assert replace(SWEEP, limit=9).most == 3
    assert replace(SWEEP, axes=("alpha",), limit=9).most == 9


def test_a_trial_that_ended_is_kept_in_brief() -> None:
    """A sweep may be long: what its steps and its dev pairs were is in the store."""
    view = Board(Console(), 1)
    view.sweep_started(SWEEP, {})
    view.trial_started(SPECS[0])
    seen = Measurement(20, {"dev/spearman": 52.5})
    view.measured(SPECS[0], seen)
    whole = replace(ended(SPECS[0], 52.5), history=(seen,), similarities=(0.5, 0.25))
    view.trial_ended(SPECS[0], whole)
    assert view.results == {SPECS[0].id: ended(SPECS[0], 52.5)}
    assert not view.latest and not view.running


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0s"), (59.6, "1m00s"), (185, "3m05s"), (7800, "2h10m")]
)
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_plain_lines() -> None:
    out = io.StringIO()
    view = PlainView(Console(file=out, width=80), at_once=2)
    view.sweep_started(SWEEP, {SPECS[0].id: ended(SPECS[0], 51.0)})
    view.trial_started(SPECS[1])
    view.measured(SPECS[1], Measurement(0, {"dev/spearman": 50.0}))
    view.trial_ended(SPECS[1], ended(SPECS[1], 52.5))
    view.trial_started(SPECS[2])
    view.trial_ended(SPECS[2], ended(SPECS[2], None, "loss is not finite at step 20"))
    first, second = out.getvalue().splitlines()
    assert first.startswith(
        "alpha=0.2: 52.50 at step 20 (untrained 50.00) | 2/3 done, 0 running, 0 failed, "
        "best 52.50 (alpha=0.2)"
    )
    assert first.endswith("left")
    assert second == (
        "alpha=0.333333: diverged (loss is not finite at step 20) | "
        "3/3 done, 0 running, 1 failed, best 52.50 (alpha=0.2)"
    )


def test_live_view_shows_running_trials() -> None:
    out = io.StringIO()
    console = Console(file=out, width=100, force_terminal=True)
    view = LiveView(console, at_once=2, seconds_per_trial=30)
    view.sweep_started(SWEEP, {})
    assert view.seconds_left == 45
    view.trial_started(SPECS[0])
    view.measured(SPECS[0], Measurement(40, {"dev/spearman": 51.25}))
    view.live.refresh()
    view.sweep_ended(SWEEP, {})
    assert "0/3 done, 1 running, 0 failed" in out.getvalue()
    assert "step 40/80, 51.25" in out.getvalue()
