"""What a sampler proposes, and what it is told: Optuna's samplers over the space's own regions."""

import sys
from collections.abc import Mapping
from dataclasses import replace

import pytest

from embedsearch.errors import UserError
from embedsearch.records import Point, Scalar, Source, Status, TrialResult, TrialSpec
from embedsearch.sweep.region import Region
from embedsearch.sweep.search import Proposals
from embedsearch.sweep.search.samplers import names, sampler
from embedsearch.sweep.search.stopping import best_so_far
from tests.sweep.test_space import MakeSpace, make_space
from tests.sweep.test_space_points import grid

__all__ = ["make_space"]

LISTED = grid("alpha: [0.001, 0.01, 0.1, 1], r_a: [0, 0.1, 0.2], r_b: [0.1, 0.2]")
RANGED = grid("alpha: {low: 1e-4, high: 1, log: true}, r_a: {low: 0, high: 0.5}")
RISING = "conditions: [r_a < r_b]\n"
SPEC = TrialSpec(
    point=Point("scd", "", {}), seed=0, preset="", backbone=Source("", "b"),
    corpus=Source("", "c"), dev=Source("", "d"), total_steps=8, eval_steps=2,
    device="cpu", precision="fp32", threads=1,
)  # fmt: skip
ALL = [name for name in names() if name != "cmaes"]
"""What needs no package besides."""


def spec_of(point: Point) -> TrialSpec:
    return replace(SPEC, point=point)


def score(spec: TrialSpec) -> float:
    """Best at alpha 0.01; the more of r_a the better."""
    values = spec.point.values
    return 60 - abs(float(values["alpha"] or 0) - 0.01) + float(values["r_a"] or 0)


def result(spec: TrialSpec, status: Status = Status.FINISHED) -> TrialResult:
    best = score(spec) if status is Status.FINISHED else None
    return TrialResult(spec.id, status, best_score=best)


def run(proposals: Proposals, at_most: int = 1000) -> list[TrialSpec]:
    """Ask and tell to the end."""
    found = []
    while len(found) < at_most and (spec := proposals.next(f"{len(found)}")):
        proposals.ended(f"{len(found)}", result(spec))
        found.append(spec)
    return found


@pytest.fixture
def region(make_space: MakeSpace) -> Region:
    return make_space(RISING + LISTED).region("g")


@pytest.mark.parametrize("method", ["tpe", "qmc"])
def test_every_allowed_point_once_and_then_the_end(method: str, region: Region) -> None:
    found = run(Proposals(region, spec_of, method, 0))
    asked = {tuple(spec.point.values[k] for k in ("alpha", "r_a", "r_b")) for spec in found}
    assert len(found) == len(asked) == len(region.points().points) == 12
    assert all(r_a < r_b for _, r_a, r_b in asked)  # type: ignore[operator]


@pytest.mark.parametrize("method", ALL)
def test_ranges_are_asked_within_their_bounds(method: str, make_space: MakeSpace) -> None:
    region = make_space(RANGED).region("g")
    found = run(Proposals(region, spec_of, method, 0, limit=14))
    assert len(found) == 14
    for spec in found:
        assert region.chosen(spec.point.values) is not None


def test_the_same_seed_asks_the_same(region: Region) -> None:
    first, again, other = (run(Proposals(region, spec_of, "tpe", seed), 6) for seed in (1, 1, 2))
    assert first == again != other


def test_numbers_are_neighbours_by_rank(region: Region) -> None:
    """A sampler that took them for names could not follow an order."""
    proposals = Proposals(region, spec_of, "tpe", 0)
    assert proposals._dimensions["alpha"].ranks == (0.001, 0.01, 0.1, 1)
    assert proposals._dimensions["alpha"].sampled(0.1) == 2


def test_tpe_finds_what_is_good_sooner_than_chance(make_space: MakeSpace) -> None:
    axis = ", ".join(f"{10 ** (i / 10):.6f}" for i in range(-40, 1, 3))
    region = make_space(grid(f"alpha: [{axis}], r_a: [0, 0.1, 0.2]")).region("g")
    best = max(score(spec_of(point)) for point in region.points().points)

    def cost(seed: int) -> int:
        found = [score(spec) for spec in run(Proposals(region, spec_of, "tpe", seed), 42)]
        return 1 + next(i for i, value in enumerate(found) if value > best - 0.02)

    costs = sorted(cost(seed) for seed in range(5))
    good = sum(score(spec_of(point)) > best - 0.02 for point in region.points().points)
    assert costs[2] < len(region.points().points) / (good + 1), "the mean of random draws"


def test_what_was_tried_is_not_asked_again_and_teaches(region: Region) -> None:
    tried = [spec_of(point) for point in region.points().points[:9]]
    proposals = Proposals(region, spec_of, "tpe", 0)
    statuses = [Status.DIVERGED, *[Status.FINISHED] * 8]
    past = [(s.point.values, result(s, status)) for s, status in zip(tried, statuses, strict=True)]
    assert proposals.learn(past, {}) == 8
    found = run(proposals)
    assert len(found) == 3 and not {s.id for s in found} & {s.id for s in tried}


def test_another_setting_teaches_nothing(region: Region) -> None:
    spec = replace(spec_of(region.points().points[0]), seed=7)
    assert Proposals(region, spec_of, "tpe", 0).learn([(spec.point.values, result(spec))], {}) == 0


def test_a_stopped_trial_teaches_by_its_curve(region: Region) -> None:
    spec = spec_of(region.points().points[0])
    past = [(spec.point.values, result(spec, Status.STOPPED))]
    for method in ("tpe", "gp"):
        proposals = Proposals(region, spec_of, method, 0)
        assert proposals.learn(past, {spec.id: {0: 50.0, 2: 51.0, 4: 49.0}}) == 1
        [trial] = proposals._study.trials
        assert trial.state.name == ("PRUNED" if method == "tpe" else "COMPLETE")
        assert method != "gp" or trial.value == 51.0


def test_best_so_far() -> None:
    told = best_so_far({0: 99.0, 2: 51.0, 6: 52.0, 4: 49.0})
    assert list(told.items()) == [(0, 99.0), (2, 51.0), (4, 51.0), (6, 52.0)]
    assert best_so_far({}) == {}


def test_published_values_come_first(region: Region) -> None:
    proposals = Proposals(region, spec_of, "tpe", 0)
    first: list[Mapping[str, Scalar]] = [
        {"alpha": 1, "r_a": 0.1, "r_b": 0.2},
        {"alpha": 1, "r_a": 0.2, "r_b": 0.1},
    ]
    assert proposals.try_first(first) == 1, "the other breaks the condition"
    assert run(proposals, 1)[0].point.values["alpha"] == 1


def test_a_sweep_goes_on_with_what_did_not_end(region: Region) -> None:
    left, done = (spec_of(point) for point in region.points().points[:2])
    proposals = Proposals(region, spec_of, "tpe", 0, limit=3, members=[left, done], again=[left])
    proposals.learn([(done.point.values, result(done))], {})
    assert not proposals.is_at_its_end
    found = run(proposals)
    assert found[0] == left and len(found) == 2 and done not in found
    assert proposals.is_at_its_end


def test_what_is_gone_on_with_may_report(region: Region) -> None:
    """Its sampler has not proposed it: an earlier command's has."""
    [left] = [spec_of(point) for point in region.points().points[:1]]
    proposals = Proposals(region, spec_of, "tpe", 0, limit=1, members=[left], again=[left])
    assert proposals.next("gone on") == left
    proposals.reported("gone on", 1, 50.0)
    proposals.ended("gone on", result(left))
    assert proposals.next("another") is None


@pytest.mark.parametrize("method", ["tpe", "gp"])
def test_what_is_gone_on_with_teaches_when_it_ends(method: str, region: Region) -> None:
    """By its result; one that is stopped by its curve, which begins at its start."""
    specs = [spec_of(point) for point in region.points().points[:3]]
    proposals = Proposals(region, spec_of, method, 0, members=specs, again=specs)
    for name, end in zip("abc", (Status.FINISHED, None, Status.FAILED), strict=True):
        spec = proposals.next(name)
        assert spec is not None
        for evaluation, told in ((0, 50.0), (1, 51.0), (0, 50.0)):
            proposals.reported(name, evaluation, told)
        proposals.ended(name, end and result(spec, end))
    finished, stopped, failed = proposals._study.trials
    assert (finished.state.name, finished.value) == ("COMPLETE", score(specs[0]))
    assert stopped.state.name == ("PRUNED" if method == "tpe" else "COMPLETE")
    assert stopped.intermediate_values == {0: 50.0, 1: 51.0}
    assert method == "tpe" or stopped.value == 51.0
    assert failed.state.name == "FAIL"


def test_points_that_cannot_run_are_passed_over(region: Region) -> None:
    def picky(point: Point) -> TrialSpec:
        if point.values["alpha"] == 1:
            raise UserError("too much")
        return spec_of(point)

    assert len(run(Proposals(region, picky, "tpe", 0))) == 9


def test_one_point_is_nothing_to_search(make_space: MakeSpace) -> None:
    said = {"alpha": "1", "r_a": "0", "r_b": "0.1", "width": "8"}
    region = make_space(LISTED).region("g", overrides=said)
    with pytest.raises(UserError, match=r"^command line: with alpha, r_a, r_b said there is one"):
        Proposals(region, spec_of, "tpe", 0)
    region = make_space("grids:\n  g: {}\n").region("g", overrides={"width": "8"})
    with pytest.raises(UserError, match=r"yaml, line \d+, grids.g: has one point only"):
        Proposals(region, spec_of, "tpe", 0)


@pytest.mark.parametrize(("name", "reason"), [("tep", "tpe"), ("grid_search", "grid")])
def test_no_such_search(name: str, reason: str) -> None:
    with pytest.raises(UserError, match=reason):
        sampler(name, 0)


def test_a_missing_package_is_said_before_anything_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Optuna asks for it at the first proposal that learns from another."""
    monkeypatch.setitem(sys.modules, "cmaes", None)
    with pytest.raises(UserError, match=r"cmaes needs another package: .*embedsearch\[search\]"):
        sampler("cmaes", 0)
