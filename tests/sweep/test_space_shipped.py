"""The spaces that travel with the package."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from embedsearch.presets import load_preset
from embedsearch.records import Scalar
from embedsearch.sweep.axis import Range
from embedsearch.sweep.catalogue import find_space, shipped_folder
from embedsearch.sweep.space import Space, load_space
from tests.sweep.test_space_range import draw


def shipped(method: str) -> Space:
    return load_space(shipped_folder() / f"{method}.yaml")


def only(space: Space, grid: str, **layers: Any) -> Mapping[str, Scalar]:
    (point,) = space.points(grid, **layers).points
    return point.values


@pytest.mark.parametrize(
    "path", sorted(shipped_folder().glob("*.yaml")), ids=lambda path: path.stem
)
def test_every_space_loads_and_says_what_its_grids_are(path: Path) -> None:
    space = load_space(path)
    assert space.about and space.grids
    for name, grid in space.grids.items():
        assert grid.about, name


@pytest.mark.parametrize("preset", ["demo", "paper"])
@pytest.mark.parametrize(
    "path", sorted(shipped_folder().glob("*.yaml")), ids=lambda path: path.stem
)
def test_every_grid_gives_points_under_every_preset(path: Path, preset: str) -> None:
    space, own = load_space(path), load_preset(preset)
    for name, grid in space.grids.items():
        centre = space.points(grid.around, preset=own).points[0].values if grid.around else None
        cap = 5 if any(isinstance(axis, Range) for axis in grid.values.values()) else None
        found = space.points(
            name, preset=own, centre=centre, family="bert", max_trials=cap, draw=draw
        )
        assert found.points
        assert found.duplicates == 0


@pytest.mark.parametrize(
    ("method", "grid", "total"),
    [
        ("scd", "coarse", 150),
        ("scd", "log", 72),
        ("simcse", "search", 12),
        ("simcse", "augment", 3),
        ("frozen", "pooling", 5),
        ("gur", "ablation", 4),
        ("gur", "search", 27),
        ("gur", "published", 1),
    ],
)
def test_a_grid_holds_as_many_points_as_it_says(method: str, grid: str, total: int) -> None:
    space = shipped(method)
    assert space.points(grid).total == total
    assert f"({total} point" in space.grids[grid].about


def test_scd_coarse_is_the_papers_grid() -> None:
    points = shipped("scd").points("coarse").points
    found = {key: {p.values[key] for p in points} for key in ("alpha", "lambda", "r_a", "r_b")}
    assert found["alpha"] == {0.1, 0.2, 0.3, 0.4, 0.5}
    assert found["lambda"] == {0.1, 0.01, 0.001}
    assert found["r_a"] == {0, 0.1, 0.2, 0.3}
    assert found["r_b"] == {0.1, 0.2, 0.3, 0.4}
    assert all(p.values["r_a"] < p.values["r_b"] for p in points)
    assert {p.values["batch_size"] for p in points} == {192}
    assert {p.values["learning_rate"] for p in points} == {3e-5}


def test_scd_fine_surrounds_every_coarse_point_within_what_it_says() -> None:
    space = shipped("scd")
    totals = set()
    for coarse in space.points("coarse").points:
        found = space.points("fine", centre=coarse.values)
        totals.add(found.total)
        assert coarse in found.points
        assert all(p.values["r_a"] < p.values["r_b"] for p in found.points)
    assert max(totals) == 525
    assert "at most 525" in space.grids["fine"].about


def test_scd_published_values_are_each_backbones() -> None:
    space = shipped("scd")
    bert, roberta = (only(space, "published", family=name) for name in ("bert", "roberta"))
    keys = ("alpha", "lambda", "r_a", "r_b", "temperature", "batch_size", "learning_rate")
    assert [bert[key] for key in keys] == [0.005, 0.013, 0.05, 0.15, 1, 192, 3e-5]
    assert [roberta[key] for key in keys] == [0.0033, 0.028, 0.065, 0.24, 1, 192, 3e-5]
    code = only(space, "published_code")
    assert [code[key] for key in keys] == [0.005225, 0.012, 0.05, 0.155, 0.05, 192, 3e-5]


def test_scd_log_and_range_reach_what_was_published() -> None:
    space = shipped("scd")
    log = {key: {p.values[key] for p in space.points("log").points} for key in ("alpha", "r_b")}
    assert min(log["alpha"]) == 0.001 and max(log["alpha"]) == 1
    axes = space.region("range").axes
    for family in ("bert", "roberta"):
        for key, axis in axes.items():
            assert isinstance(axis, Range)
            assert axis.low <= only(space, "published", family=family)[key] <= axis.high


def test_simcse_and_frozen() -> None:
    space = shipped("simcse")
    points = space.points("search").points
    assert {p.values["batch_size"] for p in points} == {64, 128, 256, 512}
    assert {p.values["learning_rate"] for p in points} == {1e-5, 3e-5, 5e-5}
    published = only(space, "published", family="bert")
    assert (published["batch_size"], published["learning_rate"]) == (64, 3e-5)
    assert published in [p.values for p in points]
    augmented = space.points("augment").points
    assert [p.values["augment_rate"] for p in augmented] == [0.05, 0.1, 0.2]
    assert {p.values["augment"] for p in augmented} == {"wdel"}
    assert all("augment" not in p.values for p in points), "what has no effect is in no point"
    poolings = [p.values["pooling"] for p in shipped("frozen").points("pooling").points]
    assert poolings == ["cls", "mean", "first_last", "top2", "static"]


def test_gurs_ablation_is_all_of_it_and_each_part_left_out() -> None:
    points = shipped("gur").points("ablation").points
    switches = {tuple(p.values[key] for key in ("lcs", "lm", "cl")) for p in points}
    all_but_one = {(False, True, True), (True, False, True), (True, True, False)}
    assert switches == {(True, True, True), *all_but_one}
    published = only(shipped("gur"), "published")
    keys = ("alpha", "temperature", "mask_rate", "peak", "projection_dim", "pooling")
    assert [published[key] for key in keys] == [1, 0.1, 0.15, 3, 128, "eos"]
    assert published in [p.values for p in points]


def test_shipped_spaces_are_found_by_method() -> None:
    for method in ("scd", "simcse", "frozen"):
        assert find_space(method) == shipped_folder() / f"{method}.yaml"
