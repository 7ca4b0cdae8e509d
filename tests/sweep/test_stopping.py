"""Rules that stop trials early, on curves whose right decision is plain."""

from types import SimpleNamespace
from typing import Any

import pytest

from embedsearch.errors import UserError
from embedsearch.sweep.search.stopping import NAMES, Stopping, replay


@pytest.mark.parametrize(
    ("written", "total", "every", "rungs"),
    [
        ("none", 80, 20, ()),
        ("asha", 80, 20, (20, 60)),
        ("asha", 5000, 125, (250, 750, 2250)),
        ("asha", 270, 10, (10, 30, 90)),
        ("hyperband", 80, 20, (20, 60)),
        ("median", 80, 20, (40, 60)),
        ("topk", 80, 20, (40,)),
        ("topk=7", 80, 10, (20,)),
    ],
)
def test_rungs(written: str, total: int, every: int, rungs: tuple[int, ...]) -> None:
    found = Stopping.parse(written, total, every)
    assert found.rungs == rungs
    assert found.keeps == {"topk": 3, "topk=7": 7}.get(written, 0)


@pytest.mark.parametrize(
    ("written", "reason"),
    [
        ("ahsa", "asha"),
        ("topk=0", "only topk takes a number"),
        ("asha=3", "only topk takes a number"),
    ],
)
def test_no_such_rule(written: str, reason: str) -> None:
    with pytest.raises(UserError, match=reason):
        Stopping.parse(written, 80, 20)


@pytest.mark.parametrize("name", [name for name in NAMES if name != "none"])
def test_a_rule_without_a_score_to_stop_at(name: str) -> None:
    with pytest.raises(UserError, match="lower --eval-steps"):
        Stopping.parse(name, 20, 20)


class Reporter:
    """Trials that report to a scheduler as Tune has them report."""

    def __init__(self, scheduler: Any) -> None:
        self.scheduler = scheduler
        self.controller = SimpleNamespace(get_live_trials=list)

    def stops(self, name: str, scores: dict[int, float]) -> int | None:
        """The step at which it is stopped."""
        trial = _Trial(name)
        self.scheduler.on_trial_add(self.controller, trial)
        for step, score in scores.items():
            report = {"step": step, "score": score}
            if self.scheduler.on_trial_result(self.controller, trial, report) == "STOP":
                return step
        return None


class _Trial:
    def __init__(self, name: str) -> None:
        self.trial_id = name


def curve(score: float) -> dict[int, float]:
    return {step: score + step / 100 for step in range(0, 90, 10)}


@pytest.mark.parametrize(("name", "at"), [("asha", 10), ("median", 20)])
def test_the_worse_is_stopped_at_the_first_rung(name: str, at: int) -> None:
    reporter = Reporter(Stopping.parse(name, 80, 10).scheduler())
    for i in range(4):
        assert reporter.stops(f"good {i}", curve(60 + i)) is None
    assert reporter.stops("bad", curve(50)) == at
    assert reporter.stops("best", curve(70)) is None


@pytest.mark.parametrize("name", ["asha", "hyperband", "median"])
def test_none_is_stopped_at_its_last_step(name: str) -> None:
    reporter = Reporter(Stopping.parse(name, 80, 10).scheduler())
    for i in range(6):
        reporter.stops(f"good {i}", curve(60 + i))
    late = dict.fromkeys(range(0, 80, 10), 90.0) | {80: 0.0}
    assert reporter.stops("late", late) is None


@pytest.mark.parametrize(("name", "at"), [("asha", 10), ("median", 20)])
def test_a_rule_knows_the_trials_of_earlier_commands(name: str, at: int) -> None:
    fresh = Stopping.parse(name, 80, 10).scheduler()
    assert Reporter(fresh).stops("bad", curve(50)) is None
    knowing = Stopping.parse(name, 80, 10).scheduler()
    replay(knowing, {f"good {i}": curve(60 + i) for i in range(4)})
    assert Reporter(knowing).stops("bad", curve(50)) == at


def test_median_pauses_none_while_there_are_too_few() -> None:
    """What Tune pauses begins anew, a finished trial too."""
    from ray.tune.experiment import Trial

    scheduler = Stopping.parse("median", 80, 10).scheduler()
    reporter = Reporter(scheduler)
    reporter.controller.get_live_trials = lambda: [SimpleNamespace(status=Trial.PENDING)]
    trial = _Trial("first")
    scheduler.on_trial_add(reporter.controller, trial)
    told = [
        scheduler.on_trial_result(reporter.controller, trial, {"step": step, "score": score})
        for step, score in curve(60).items()
    ]
    assert set(told) == {"CONTINUE"}
