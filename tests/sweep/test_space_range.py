"""Ranges, whose points are drawn."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping

import pytest

from embedsearch.errors import UserError
from embedsearch.records import Scalar
from embedsearch.sweep.axis import Axis, Choice, Range
from tests.sweep.test_space import MakeSpace, make_space, preset
from tests.sweep.test_space_points import grid

__all__ = ["make_space"]


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
