"""Searchers and rules over a real Ray, with trials of a moment whose curves are known."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from embedsearch.place import Place
from embedsearch.records import Measurement, Point, Source, Status, TrialResult, TrialSpec
from embedsearch.sweep import search
from embedsearch.sweep.budget import Budget, Meter
from embedsearch.sweep.search import Proposals, Stopping
from tests.sweep.test_search import CLUSTER, Notes, ray
from tests.sweep.test_space import MakeSpace, make_space
from tests.sweep.test_space_points import grid

__all__ = ["make_space", "ray"]

SPEC = TrialSpec(
    point=Point("scd", "", {}), seed=0, preset="", backbone=Source("", "b"),
    corpus=Source("", "c"), dev=Source("", "d"), total_steps=8, eval_steps=1,
    device="cpu", precision="fp32", threads=1,
)  # fmt: skip


def known_curve(
    spec: TrialSpec, place: Place, report: Callable[[Measurement], None]
) -> TrialResult:
    """It rises by a hundredth a step from its alpha, and goes on where a rung had it wait."""
    alpha = float(spec.point.values["alpha"] or 0)
    work = place.work(spec.id)
    work.mkdir(parents=True, exist_ok=True)
    state = work / "state.json"
    begun = json.loads(state.read_text()) if state.exists() else 0
    history = []
    for step in range(9):
        if alpha == 13 and step == 3:
            return TrialResult(spec.id, Status.DIVERGED, "unlucky")
        history.append(Measurement(step, {"dev/spearman": alpha + step / 100}))
        if step > begun:
            with (work / "steps").open("a") as steps:
                steps.write(f"{step}\n")
        if step in place.rungs:
            state.write_text(str(step))
        report(history[-1])
    return TrialResult(
        spec.id, Status.FINISHED, best_score=alpha + 0.08, best_step=8, history=tuple(history)
    )


def spec(alpha: float) -> TrialSpec:
    return replace(SPEC, point=Point("scd", "", {"alpha": alpha}))


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path / "storage")


def by_alpha(results: Mapping[str, TrialResult], alphas: list[float]) -> dict[float, TrialResult]:
    return {alpha: results[spec(alpha).id] for alpha in alphas if spec(alpha).id in results}


def test_asha_stops_the_worse_and_a_diverged_one_is_final(
    ray: Mapping[str, float], place: Place
) -> None:
    alphas = [90.0, 80.0, 13.0, 95.0, 10.0, 20.0]
    notes = Notes()
    found = by_alpha(
        search.run_trials(
            [spec(alpha) for alpha in alphas], place, search.Cluster(cpus_per_trial=2), notes,
            stopping=Stopping.parse("asha", 8, 1), run=known_curve,
        ),
        alphas,
    )  # fmt: skip
    assert set(found) == set(alphas)
    assert found[90.0].status is Status.FINISHED and found[95.0].status is Status.FINISHED
    assert found[13.0].status in (Status.DIVERGED, Status.STOPPED)
    assert {found[alpha].status for alpha in (10.0, 20.0)} == {Status.STOPPED}
    stopped = found[10.0]
    assert stopped.best_score is None and stopped.reason.startswith("at step 1 with 10.01")
    assert stopped.device_seconds > 0 and [m.step for m in stopped.history] == [0, 1]
    assert sorted(notes.events.count(("ended", spec(a).id)) for a in alphas) == [1] * 6


def test_topk_trains_the_best_on_from_where_they_waited(
    ray: Mapping[str, float], place: Place
) -> None:
    alphas = [30.0, 10.0, 50.0, 20.0, 40.0]
    meter = Meter(1.0)
    found = by_alpha(
        search.run_trials(
            [spec(alpha) for alpha in alphas], place, CLUSTER, Notes(),
            stopping=Stopping.parse("topk=2", 8, 1), meter=meter, run=known_curve,
        ),
        alphas,
    )  # fmt: skip
    finished = {alpha for alpha, result in found.items() if result.status is Status.FINISHED}
    assert finished == {50.0, 40.0}
    assert {found[a].status for a in (30.0, 10.0, 20.0)} == {Status.STOPPED}
    assert found[30.0].reason == "at step 2 with 30.02, not among the best 2"
    steps = (place.work(spec(50.0).id) / "steps").read_text().split()
    assert steps[-6:] == ["3", "4", "5", "6", "7", "8"] and steps.count("8") == 1
    assert not (place.work(spec(10.0).id) / "state").exists()
    assert meter.spent.trials == 5


def test_a_searcher_over_ray_asks_tells_and_comes_to_its_end(
    ray: Mapping[str, float], place: Place, make_space: MakeSpace
) -> None:
    region = make_space(grid("alpha: [10, 20, 30, 40]")).region("g")
    proposals = Proposals(region, lambda point: spec(float(point.values["alpha"] or 0)), "tpe", 0)
    found = search.run_trials(
        proposals, place, CLUSTER, Notes(), stopping=Stopping.parse("asha", 8, 1), run=known_curve
    )
    assert len(found) == len(proposals.specs) == 4
    assert found[spec(40.0).id].status is Status.FINISHED
    states = {trial.state.name for trial in proposals._study.trials if trial.params}
    assert {"COMPLETE"} <= states <= {"COMPLETE", "PRUNED", "FAIL"}
    told = [trial.value for trial in proposals._study.trials if trial.state.name == "COMPLETE"]
    assert 40.08 in told


def test_a_spent_budget_ends_what_runs(ray: Mapping[str, float], place: Place) -> None:
    alphas = [1.0, 2.0, 3.0]
    meter = Meter(1.0, budget=Budget.parse("0.000001s", "cpu"))
    found = search.run_trials(
        [spec(a) for a in alphas], place, CLUSTER, Notes(), meter=meter, run=known_curve
    )
    assert len(found) < 3 and meter.is_over
