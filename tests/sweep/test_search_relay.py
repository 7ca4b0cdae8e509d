"""What is kept of trials that are at their end: the observer was told the whole of them."""

from collections.abc import Callable, Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from embedsearch.place import Place
from embedsearch.records import Measurement, Status, Sweep, TrialResult, TrialSpec
from embedsearch.sweep.budget import Meter
from embedsearch.sweep.search import Proposals
from embedsearch.sweep.search.adapters import as_text, callback, spec_of, stopper
from embedsearch.sweep.search.relay import Relay
from tests.conftest import make_point
from tests.sweep import test_proposals
from tests.sweep.test_space import MakeSpace, make_space
from tests.sweep.test_space_points import grid

__all__ = ["make_space"]

Make = Callable[..., Any]


class Ends:
    """An observer that keeps what it is told of ends."""

    def __init__(self) -> None:
        self.results: list[TrialResult] = []

    def sweep_started(self, sweep: Sweep, reused: Mapping[str, TrialResult]) -> None: ...
    def trial_started(self, spec: TrialSpec) -> None: ...
    def measured(self, spec: TrialSpec, measurement: Measurement) -> None: ...
    def trial_ended(self, spec: TrialSpec, result: TrialResult) -> None:
        self.results.append(result)

    def sweep_ended(self, sweep: Sweep, results: Mapping[str, TrialResult]) -> None: ...


def test_a_finished_trial_is_kept_in_brief(make_setting: Make, tmp_path: Path) -> None:
    """By Tune too, which holds the last report of each trial to the end of the sweep."""
    spec = make_setting().spec(make_point())
    seen = Measurement(4, {"dev/spearman": 51.0})
    whole = TrialResult(
        spec.id, Status.FINISHED, best_score=51.0, best_step=4, history=(seen,),
        similarities=(0.5, 0.25),
    )  # fmt: skip
    ends = Ends()
    relay = Relay(ends, Meter(1), Place(tmp_path), [spec])
    of_tune = callback(relay)
    of_tune.on_trial_start(0, [], spec.id)
    report = {"step": 2, "metrics": {"dev/spearman": 50.0}, "score": 50.0}
    of_tune.on_trial_result(0, [], spec.id, report)
    assert list(relay.curves[spec.id]) == [2]
    last = {"step": 4, "metrics": dict(seen.metrics), "score": 51.0, "result": whole.to_json()}
    of_tune.on_trial_result(0, [], spec.id, last)
    of_tune.on_trial_complete(0, [], spec.id)
    assert ends.results == [whole]
    assert relay.results == {spec.id: whole.brief} and not relay.curves
    assert last["result"] is None, "it says still that it is the last"


def test_a_stopped_trial_is_told_with_its_history(make_setting: Make, tmp_path: Path) -> None:
    spec = make_setting().spec(make_point())
    ends = Ends()
    relay = Relay(ends, Meter(1), Place(tmp_path), [spec])
    relay.started(spec.id)
    relay.reported(spec.id, {"step": 2, "metrics": {"dev/spearman": 50.0}, "score": 50.0})
    relay.left(spec.id)
    [told] = ends.results
    assert [m.step for m in told.history] == [2] and told.status is Status.STOPPED
    assert relay.results == {spec.id: told.brief} and not relay.curves


def test_an_error_of_ours_is_kept_and_ends_the_sweep(make_setting: Make, tmp_path: Path) -> None:
    """Tune makes another error of it, or takes it for one of the trial."""

    class Broken(Ends):
        def trial_ended(self, spec: TrialSpec, result: TrialResult) -> None:
            raise KeyError(spec.id)

    spec = make_setting().spec(make_point())
    relay = Relay(Broken(), Meter(1), Place(tmp_path), [spec])
    stop = stopper(relay)
    relay.started(spec.id)
    assert not stop.stop_all()
    with pytest.raises(KeyError) as raised:
        callback(relay).on_trial_complete(0, [], spec.id)
    assert relay.failure is raised.value and stop.stop_all()


def test_all_wait_though_earlier_commands_had_others(make_space: MakeSpace, tmp_path: Path) -> None:
    """The rule chooses once those of this command are at its step."""
    region = make_space(grid("alpha: [10, 20, 30]")).region("g")
    earlier, now = (test_proposals.spec_of(point) for point in region.points().points[:2])
    proposals = Proposals(
        region, test_proposals.spec_of, "tpe", 0, members=[earlier, now], again=[now]
    )
    relay = Relay(Ends(), Meter(1), Place(tmp_path), proposals)
    relay.until = 2
    relay.started(now.id)
    assert relay.unfinished
    relay.reported(now.id, {"step": 2, "metrics": {"dev/spearman": 50.0}, "score": 50.0})
    relay.left(now.id)
    assert not relay.unfinished


def test_tune_copies_no_spec(make_setting: Make) -> None:
    """It does so with all of a sweep's for each of its trials."""
    spec = make_setting().spec(make_point())
    texts = [as_text(spec)]
    assert deepcopy(texts)[0] is texts[0]
    assert spec_of({"spec": texts[0]}) == spec
