"""From a grid to its points: decimals, doubles, conditions, caps, centres and draws."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from embedsearch.errors import UserError
from embedsearch.records import Scalar
from embedsearch.sweep.axis import Axis, Choice, Range
from tests.sweep.test_space import MakeSpace, make_space, preset, values

__all__ = ["make_space"]


def grid(axes: str, more: str = "") -> str:
    return f"grids: {{g: {{values: {{{axes}}}{more}}}}}"


def draw(axes: Mapping[str, Axis], seed: int) -> Iterator[Mapping[str, Scalar]]:
    """A stand-in for the search library's random sampler."""
    source = random.Random(seed)

    def one(axis: Axis) -> Scalar:
        if isinstance(axis, Choice):
            return source.choice(axis.values)
        value = source.uniform(axis.low, axis.high)
        return round(value) if axis.integer else value

    while True:
        yield {key: one(axis) for key, axis in axes.items()}


@pytest.mark.parametrize(
    ("axis", "expected"),
    [
        ("{start: 0.1, stop: 0.3, step: 0.1}", [0.1, 0.2, 0.3]),
        ("{start: 0.1, stop: 0.35, step: 0.1}", [0.1, 0.2, 0.3]),
        ("{start: 0, stop: 1, step: 0.1}", [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1]),
        ("{start: 1e-5, stop: 5e-5, step: 2e-5}", [1e-5, 3e-5, 5e-5]),
        ("{start: 0.5, stop: 0.5, step: 1}", [0.5]),
        ("0.3", [0.3]),
        ("[3, 1, 2]", [3, 1, 2]),
        ("[1e-1, 012]", [0.1, 12]),
    ],
)
def test_values_are_decimal_and_in_their_order(
    make_space: MakeSpace, axis: str, expected: list[float]
) -> None:
    assert values(make_space(grid(f"alpha: {axis}")), "g", "alpha") == expected


def test_every_step_is_the_float_its_decimal_names(make_space: MakeSpace) -> None:
    found = values(make_space(grid("alpha: {start: 0, stop: 10, step: 0.01}")), "g", "alpha")
    assert found == [float(f"{i // 100}.{i % 100:02}") for i in range(1001)]


def test_steps_of_a_whole_number(make_space: MakeSpace) -> None:
    found = values(make_space(grid("width: {start: 32, stop: 1e2, step: 32}")), "g", "width")
    assert found == [32, 64, 96]
    assert all(type(value) is int for value in found)
    with pytest.raises(UserError, match=r"values\.width: '32\.5' is no whole number"):
        make_space(grid("width: {start: 32, stop: 64, step: 0.5}"))


@pytest.mark.parametrize(
    ("axis", "message"),
    [
        ("{start: 0.1, stop: 0.3}", "alpha: the key 'step' is missing"),
        ("{start: 0.1, stop: 0.3, step: 0}", r"alpha\.step: '0' should be greater than 0"),
        ("{start: 0.1, stop: 0.3, step: -0.1}", r"alpha\.step: '-0\.1' should be greater"),
        ("{start: 0.3, stop: 0.1, step: 0.1}", r"alpha: the stop 0\.1 lies below the start 0\.3"),
        ("{start: 0, stop: 1, step: 1e-9}", r"alpha: 1000000001 values are more than 10000"),
        ("{start: 0, stop: 1:30, step: 1}", r"alpha\.stop: '1:30' is no number"),
        ("{start: 0, stop: .inf, step: 1}", r"alpha\.stop: '\.inf' is no number"),
        ("{start: 0, stop: inf, step: 1}", r"alpha\.stop: 'inf' should be a finite number"),
        ("{start: 0, stpo: 1, step: 1}", r"alpha\.stpo: no key 'stpo', perhaps 'stop'"),
        ("{low: 1, high: 1}", "alpha: the high 1 does not lie above the low 1"),
        ("{low: 0, high: 1, log: true}", "alpha: a logarithmic range starts above 0, not at 0"),
        ("{low: 0, high: 1, logg: true}", r"alpha\.logg: no key 'logg', perhaps 'log'"),
        ("{low: 0}", "alpha: the key 'high' is missing"),
        ("{low: -1, high: 1}", "alpha: '-1' should be greater than or equal to 0"),
    ],
)
def test_axes_without_sense_are_refused(make_space: MakeSpace, axis: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        make_space(grid(f"alpha: {axis}"))


def test_a_range_is_of_numbers(make_space: MakeSpace) -> None:
    with pytest.raises(UserError, match="bias: is no number, and so has no range"):
        make_space(grid("bias: {low: 0, high: 1}"))
    with pytest.raises(UserError, match="head: '0' should be 'mlp' or 'none'"):
        make_space(grid("head: {low: 0, high: 1}"))


@pytest.mark.parametrize(
    ("axes", "count", "duplicates"),
    [
        ("alpha: [1, 1]", 1, 1),
        ("alpha: [1, 1.0, 1e0]", 1, 2),
        ("alpha: [0.1, 1e-1, 0.10], width: [1, 1.0]", 1, 5),
        ("alpha: [1, 2, 1], width: [1, 2]", 4, 2),
        ("bias: [yes, true, on, no]", 2, 2),
        ("dropout: [null, ~, 0.1]", 2, 1),
    ],
)
def test_doubles_are_dropped_after_typing_and_counted(
    make_space: MakeSpace, axes: str, count: int, duplicates: int
) -> None:
    found = make_space(grid(axes)).points("g")
    assert (found.total, found.duplicates, found.excluded) == (count, duplicates, 0)
    assert len({point.id for point in found.points}) == len(found.points) == count


def test_conditions_exclude_and_are_counted(make_space: MakeSpace) -> None:
    rates = "r_a: {start: 0, stop: 0.4, step: 0.1}, r_b: {start: 0, stop: 0.4, step: 0.1}"
    space = make_space("conditions: [r_a < r_b]\n" + grid(rates, ", conditions: [r_b != 0.4]"))
    found = space.points("g")
    assert (found.total, found.excluded, found.duplicates, found.left_out) == (6, 19, 0, 0)
    assert all(point.values["r_a"] < point.values["r_b"] < 0.4 for point in found.points)


def test_a_condition_sees_values_that_do_not_vary(make_space: MakeSpace) -> None:
    space = make_space("conditions: [r_a < r_b]\n" + grid("r_a: [0.1, 0.2]"))
    assert values(space, "g", "r_a", overrides={"r_b": "0.2"}) == [0.1]
    with pytest.raises(UserError, match=r"grids\.g: no point is left, all 2 break 'r_a < r_b'"):
        space.points("g", overrides={"r_b": "0"})


def test_the_order_is_that_of_nested_loops_and_always_the_same(make_space: MakeSpace) -> None:
    text = grid("lambda: [2, 1], alpha: [1, 2]")
    first, again = (make_space(text).points("g").points for _ in range(2))
    assert [(p.values["lambda"], p.values["alpha"]) for p in first] == [
        (2, 1),
        (2, 2),
        (1, 1),
        (1, 2),
    ]
    assert first == again


GRID = grid("alpha: {start: 0, stop: 1, step: 0.1}, r_a: [0, 0.1, 0.2], r_b: [0.1, 0.3]")


@pytest.mark.parametrize("seed", range(5))
def test_a_smaller_cap_takes_part_of_what_a_larger_one_takes(
    make_space: MakeSpace, seed: int
) -> None:
    space = make_space(GRID)
    whole = [point.id for point in space.points("g").points]
    taken: set[str] = set()
    for cap in range(1, len(whole) + 1):
        found = space.points("g", max_trials=cap, seed=seed)
        ids = [point.id for point in found.points]
        assert len(ids) == cap
        assert (found.total, found.left_out) == (len(whole), len(whole) - cap)
        assert taken <= set(ids)
        assert ids == [name for name in whole if name in set(ids)], "the order is the grid's"
        taken = set(ids)


def test_a_cap_takes_from_everywhere(make_space: MakeSpace) -> None:
    space = make_space(GRID)
    parts = [
        {point.id for point in space.points("g", max_trials=12, seed=seed).points}
        for seed in range(20)
    ]
    assert len({frozenset(part) for part in parts}) == 20
    assert len(set.union(*parts)) > 60
    assert len({point.values["alpha"] for point in space.points("g", max_trials=24).points}) > 6


def test_a_grid_that_grows_keeps_most_of_what_was_taken(make_space: MakeSpace) -> None:
    small = {p.id for p in make_space(GRID).points("g", max_trials=20).points}
    grown = make_space(GRID.replace("[0.1, 0.3]", "[0.3, 0.1, 0.35]"))
    large = {p.id for p in grown.points("g", max_trials=30).points}
    assert len(small & large) >= 14


def test_the_preset_caps_and_the_command_line_comes_first(make_space: MakeSpace) -> None:
    space = make_space(GRID)
    own = preset(max_trials=5, methods={"toy": {"max_trials": {"g": 3}}})
    assert len(space.points("g", preset=own).points) == 3
    assert len(space.points("g", preset=own, max_trials=9).points) == 9
    assert len(space.points("g", preset=preset(max_trials=5)).points) == 5
    assert len(space.points("g", preset=preset()).points) == 66
    with pytest.raises(UserError, match="0 trials are none"):
        space.points("g", max_trials=0)


def test_too_many_combinations_are_refused_at_once(make_space: MakeSpace) -> None:
    axis = "{start: 0, stop: 0.9, step: 0.001}"
    space = make_space(grid(f"alpha: {axis}, r_a: {axis}"))
    with pytest.raises(UserError, match="its 811,801 combinations are more than 200,000"):
        space.points("g", max_trials=3)


FINE = (
    "grids:\n  coarse: {values: {alpha: [0.1]}}\n"
    "  fine:\n    around: coarse\n    values:\n"
    "      alpha: {step: 0.01, within: 0.03, low: 0.01}\n"
    "      lambda: {factors: [0.5, 1, 2]}\n"
    "      r_a: {step: 0.1, within: 0.1, low: 0, high: 0.4}\n"
)


def centre(space: Any, **overrides: str) -> Mapping[str, Scalar]:
    point: Mapping[str, Scalar] = space.points("coarse", overrides=overrides).points[0].values
    return point


def test_points_lie_round_a_centre_by_decimal_steps(make_space: MakeSpace) -> None:
    space = make_space(FINE)
    middle = centre(space, r_a="0.3", **{"lambda": "0.001"})
    found = space.points("fine", centre=middle)
    assert found.total == 7 * 3 * 3
    alphas, lambdas, rates = (
        list(dict.fromkeys(p.values[key] for p in found.points))
        for key in ("alpha", "lambda", "r_a")
    )
    assert alphas == [0.07, 0.08, 0.09, 0.1, 0.11, 0.12, 0.13]
    assert lambdas == [0.0005, 0.001, 0.002]
    assert rates == [0.2, 0.3, 0.4]
    assert middle in [point.values for point in found.points], "the centre is one of them"


def test_bounds_cut_and_do_not_bend(make_space: MakeSpace) -> None:
    space = make_space(FINE)
    middle = centre(space, alpha="0.02", r_a="0")
    assert set(values(space, "fine", "alpha", centre=middle)) == {0.01, 0.02, 0.03, 0.04, 0.05}
    assert set(values(space, "fine", "r_a", centre=middle)) == {0, 0.1}
    with pytest.raises(UserError, match=r"line 9, .*r_a: no value near the centre's 0\.9 lies ins"):
        space.points("fine", centre=centre(space, r_a="0.9"))


def test_the_rest_of_a_point_is_the_centres(make_space: MakeSpace) -> None:
    space = make_space(FINE)
    own = preset(values={"width": 8}, methods={"toy": {"learning_rate_factor": 10}})
    coarse = space.points("coarse", preset=own, overrides={"r_b": "0.7"}).points[0].values
    found = space.points("fine", preset=own, centre=coarse)
    assert {p.values["r_b"] for p in found.points} == {0.7}
    assert {p.values["width"] for p in found.points} == {8}
    assert {p.values["learning_rate"] for p in found.points} == {3e-4}, "and not scaled twice"
    assert found.notes == {}
    assert set(values(space, "fine", "r_b", centre=coarse, overrides={"r_b": "0.2"})) == {0.2}
    assert set(values(space, "fine", "alpha", centre=coarse, overrides={"alpha": "5"})) == {5}


def test_a_centre_that_lacks_what_is_new_takes_the_default(make_space: MakeSpace) -> None:
    space = make_space(FINE)
    old = {key: value for key, value in centre(space).items() if key not in ("lambda", "bias")}
    assert set(values(space, "fine", "lambda", centre=old)) == {0.0065, 0.013, 0.026}


def test_a_learning_rate_round_a_centre_is_not_scaled(make_space: MakeSpace) -> None:
    space = make_space(
        "grids: {c: {}, f: {around: c, values: {learning_rate: {factors: [0.5, 1]}}}}"
    )
    own = preset(methods={"toy": {"learning_rate_factor": 10}})
    coarse = space.points("c", preset=own).points[0].values
    found = space.points("f", preset=own, centre=coarse)
    assert [point.values["learning_rate"] for point in found.points] == [0.00015, 0.0003]
    assert found.notes == {}


def test_a_centre_where_it_belongs_and_only_there(make_space: MakeSpace) -> None:
    space = make_space(FINE)
    with pytest.raises(UserError, match=r"embedsearch\.sweep toy --grid coarse$"):
        space.points("fine")
    with pytest.raises(UserError, match=r"grids\.coarse: lies around no trial"):
        space.points("coarse", centre={})
    with pytest.raises(UserError, match=r"centre, gone: no hyperparameter 'gone'"):
        space.points("fine", centre={"gone": 1})
    bad = make_space("grids: {c: {}, f: {around: c, values: {head: {factors: [2]}}}}")
    with pytest.raises(UserError, match="head: nothing lies near 'mlp', which is no number"):
        bad.points("f", centre={})


RANGES = grid(
    "alpha: {low: 0.001, high: 1, log: true}, r_a: {low: 0, high: 0.4}, "
    "r_b: [0.1, 0.2], width: {low: 8, high: 16}",
    ", conditions: [r_a < r_b]",
)


def test_ranges_are_typed_and_handed_to_the_drawer(make_space: MakeSpace) -> None:
    own = preset(methods={"toy": {"learning_rate_factor": 10}})
    text = RANGES.replace("values: {", "values: {learning_rate: {low: 1e-5, high: 3e-5}, ")
    axes = make_space(text).region("g", preset=own).axes
    assert axes["alpha"] == Range(0.001, 1.0, log=True)
    assert axes["width"] == Range(8, 16, integer=True)
    assert axes["r_b"] == Choice((0.1, 0.2))
    assert axes["learning_rate"] == Range(1e-4, 3e-4)


def test_draws_keep_conditions_and_repeat_themselves(make_space: MakeSpace) -> None:
    space = make_space(RANGES)
    found = space.points("g", max_trials=30, seed=1, draw=draw)
    assert len(found.points) == found.total == 30
    assert found.excluded > 0 and found.left_out == 0
    assert all(point.values["r_a"] < point.values["r_b"] for point in found.points)
    assert all(type(point.values["width"]) is int for point in found.points)
    assert found == space.points("g", max_trials=30, seed=1, draw=draw)
    assert found.points[:12] == space.points("g", max_trials=12, seed=1, draw=draw).points
    assert found.points != space.points("g", max_trials=30, seed=2, draw=draw).points


def test_a_range_has_no_end_of_its_own(make_space: MakeSpace) -> None:
    space = make_space(RANGES)
    with pytest.raises(UserError, match=r"grids\.g: has no end, .* --max-trials N"):
        space.points("g", draw=draw)
    assert len(space.points("g", preset=preset(max_trials=4), draw=draw).points) == 4


def test_draws_that_find_nothing_give_up(make_space: MakeSpace) -> None:
    space = make_space(grid("r_a: {low: 0.5, high: 0.6}", ", conditions: [r_a < r_b]"))
    with pytest.raises(
        UserError, match="400 draws gave 0 of 2 points, with 400 that break 'r_a < r"
    ):
        space.points("g", max_trials=2, draw=draw)
    few = make_space(grid("width: {low: 1, high: 2}"))
    with pytest.raises(UserError, match=r"600 draws gave 2 of 3 points, .* and 598 repeated"):
        few.points("g", max_trials=3, draw=draw)


def test_one_point_where_everything_is_said(make_space: MakeSpace) -> None:
    found = make_space(grid("alpha: {low: 1, high: 2}")).points("g", overrides={"alpha": "7"})
    assert [point.values["alpha"] for point in found.points] == [7]
