"""Grids that lie around another's best point."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from embedsearch.errors import UserError
from embedsearch.records import Scalar
from tests.sweep.test_space import MakeSpace, make_space, preset, values

__all__ = ["make_space"]

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
