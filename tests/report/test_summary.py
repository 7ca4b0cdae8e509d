"""How a sweep says that it ended."""

import json
from dataclasses import replace
from typing import Any

from embedsearch.records import Status, Sweep, TrialResult
from embedsearch.report.summary import Summary
from tests.report.test_live import SPECS, SWEEP, ended


def summary(*scores: float | None, sweep: Sweep = SWEEP) -> Summary:
    results = [ended(s, x, "NaN") for s, x in zip(SPECS, scores, strict=False)]
    return Summary(sweep, {result.spec_id: result for result in results})


def text(found: Summary, **checkpoints: Any) -> str:
    return "\n".join(found.lines(checkpoints))


def test_best_beside_the_untrained_score() -> None:
    found = summary(51.0, 53.0, 52.0)
    said = text(found, **{SPECS[1].id: "/store/checkpoint"})
    assert (
        "Best of 3: 53.00 with alpha=0.2\nUntrained: 50.00\nCheckpoint: /store/checkpoint" in said
    )
    assert said.endswith("Next: python -m embedsearch.sweep scd --grid fine")
    assert found.exit_code() == 0


def test_a_grid_that_the_command_goes_on_with_is_not_for_the_reader_to_run() -> None:
    for scores in ((51.0, 53.0, 52.0), (49.0, 48.0, 49.5)):
        said = text(replace(summary(*scores), then="fine"))
        assert said.endswith("\nGoing on with fine, around the best") and "python -m" not in said


def test_a_trial_alone_needs_no_name() -> None:
    found = summary(51.0, sweep=Sweep("scd", "single", "demo", SPECS[:1]))
    assert text(found).splitlines()[0] == "Best of 1: 51.00"


def test_nothing_learnt_is_said_with_the_way_on() -> None:
    said = text(summary(49.0, 48.0, 49.5))
    assert said.endswith(
        "No trial beats the untrained score; try python -m embedsearch.sweep scd --grid log"
    )


def test_ties_are_named() -> None:
    said = text(summary(53.0, 52.999, 40.0))
    assert "A tie between 2: alpha=0.1; alpha=0.2" in said
    assert "tie" not in text(summary(53.0, 52.9, 40.0))


def test_failures_are_counted_once_a_cause() -> None:
    found = summary(None, 51.0, None)
    assert "2 failed: diverged: NaN" in text(found)
    assert found.exit_code() == 0


def test_all_failed_has_no_best() -> None:
    found = summary(None, None, None)
    assert "No trial has a score, so there is no best." in text(found)
    assert found.exit_code() == 1
    assert found.to_json({})["best"] is None


def test_a_one_trial_sweep_with_nan_has_no_best() -> None:
    sweep = Sweep("scd", "published", "demo", SPECS[:1])
    found = summary(None, sweep=sweep)
    assert found.exit_code() == 1 and found.ranked == []


def test_stopped_says_how_to_go_on() -> None:
    found = summary(51.0)
    assert "Stopped: 2 of 3 trials left; give the same command again to go on." in text(found)
    assert found.exit_code() == 130


def test_json_is_json() -> None:
    value = json.loads(json.dumps(summary(51.0, None, 52.0).to_json({}), allow_nan=False))
    assert [row["score"] for row in value["ranked"]] == [52.0, 51.0]
    assert value["failures"] == {"diverged: NaN": 1}
    assert value["best"]["untrained"] == 50.0
    assert value["beats_untrained"] is True


def test_interrupted_is_no_score() -> None:
    result = TrialResult(SPECS[0].id, Status.INTERRUPTED, best_score=99.0)
    assert Summary(SWEEP, {SPECS[0].id: result}).ranked == []
