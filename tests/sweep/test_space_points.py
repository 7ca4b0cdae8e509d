"""From a grid to its points: decimals, doubles, conditions and caps."""

from __future__ import annotations

import pytest

from embedsearch.errors import UserError
from tests.sweep.test_space import MakeSpace, make_space, preset, values

__all__ = ["make_space"]


def grid(axes: str, more: str = "") -> str:
    return f"grids: {{g: {{values: {{{axes}}}{more}}}}}"


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
