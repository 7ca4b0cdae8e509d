"""Who says what a hyperparameter is, and what becomes of it in a point."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import pytest
from pydantic import Field

from embedsearch.errors import UserError
from embedsearch.methods.base import Method, MethodConfig, Rate
from embedsearch.presets import Preset
from embedsearch.sweep.space import Space, load_space

MakeSpace = Callable[[str], Space]


class Toy(Method):
    """A method that has a field of every kind."""

    class Config(MethodConfig):
        alpha: float = Field(0.005, ge=0)
        lambda_: float = Field(0.013, ge=0)
        r_a: Rate = 0.05
        r_b: Rate = 0.15
        width: int = Field(64, ge=1)
        dropout: Rate | None = None
        bias: bool = True
        head: Literal["mlp", "none"] = "mlp"


@pytest.fixture
def make_space(tmp_path: Path) -> MakeSpace:
    """A space of the toy method from the rest of its file."""

    def make(text: str, name: str = "toy") -> Space:
        path = tmp_path / f"{name}.yaml"
        path.write_text(f"method: {__name__}:Toy\n{text}")
        return load_space(path)

    return make


def preset(**parts: Any) -> Preset:
    places = {"backbone": "nano", "corpus": "demo", "dev": "demo"}
    return Preset(name="own", **places, steps=1, **parts)


def values(space: Space, grid: str | None, key: str, **layers: Any) -> list[Any]:
    return [point.values[key] for point in space.points(grid, **layers).points]


ONE_GRID = "fixed: {width: 32}\ngrids:\n  g:\n    values: {alpha: [1, 2]}\n"


def test_a_point_is_whole(make_space: MakeSpace) -> None:
    point = make_space(ONE_GRID).points("g").points[0]
    assert point.method == "toy"
    assert point.target == f"{__name__}:Toy"
    assert point.values == Toy.Config(alpha=1, width=32).model_dump(by_alias=True)
    assert point.values["lambda"] == 0.013
    assert len(point.id) == 16


def test_each_layer_wins_over_the_one_below(make_space: MakeSpace) -> None:
    space = make_space(
        "fixed: {width: 1, r_a: 0.1, r_b: 0.1, lambda: 1, alpha: 1}\n"
        "grids: {g: {values: {lambda: [3], alpha: [3]}}}\n"
    )
    own = preset(
        values={"r_b": 0.2, "lambda": 2, "alpha": 2}, methods={"toy": {"values": {"r_b": 0.3}}}
    )
    point = space.points("g", preset=own, overrides={"alpha": "4"}).points[0].values
    assert point["bias"] is True
    assert point["width"] == 1
    assert point["r_a"] == 0.1
    assert point["r_b"] == 0.3
    assert point["lambda"] == 3
    assert point["alpha"] == 4


def test_an_override_of_what_is_swept_leaves_one_value(make_space: MakeSpace) -> None:
    space = make_space("grids: {g: {values: {alpha: [1, 2], r_a: [0, 0.1]}}}")
    found = space.points("g", overrides={"alpha": "7"})
    assert (found.total, found.duplicates) == (2, 0)
    assert {point.values["alpha"] for point in found.points} == {7}


def test_without_a_grid_there_is_one_point(make_space: MakeSpace) -> None:
    found = make_space(ONE_GRID).points(None, preset=preset(max_trials=1), overrides={"bias": "no"})
    assert found.total == 1
    assert found.points[0].values["width"] == 32
    assert found.points[0].values["bias"] is False


@pytest.mark.parametrize(
    ("said", "rate", "is_noted"),
    [
        ({}, [3e-4], True),
        ({"fixed": 1e-5}, [1e-4], True),
        ({"fixed": 1e-5, "preset": 2e-3}, [2e-3], False),
        ({"preset": 2e-3, "grid": "[1e-5, 3e-5]"}, [1e-4, 3e-4], True),
        ({"grid": "[1e-5, 3e-5]", "said": "7e-5"}, [7e-5], False),
        ({"fixed": 1e-5, "said": "3e-5"}, [3e-5], False),
        ({"preset": 2e-3, "said": "3e-5"}, [3e-5], False),
    ],
)
def test_the_factor_multiplies_what_class_space_and_grid_say(
    make_space: MakeSpace, said: dict[str, Any], rate: list[float], is_noted: bool
) -> None:
    fixed = f"fixed: {{learning_rate: {said['fixed']}}}\n" if "fixed" in said else ""
    grid = f"learning_rate: {said['grid']}" if "grid" in said else "alpha: 1"
    space = make_space(f"{fixed}grids: {{g: {{values: {{{grid}}}}}}}")
    own = {"learning_rate": said["preset"]} if "preset" in said else {}
    found = space.points(
        "g",
        preset=preset(methods={"toy": {"learning_rate_factor": 10, "values": own}}),
        overrides={"learning_rate": said["said"]} if "said" in said else {},
    )
    assert [point.values["learning_rate"] for point in found.points] == rate
    assert found.notes == ({"learning_rate_factor": 10} if is_noted else {})


def test_the_factor_of_another_method_does_nothing(make_space: MakeSpace) -> None:
    own = preset(methods={"scd": {"learning_rate_factor": 10}})
    found = make_space(ONE_GRID).points("g", preset=own)
    assert found.points[0].values["learning_rate"] == 3e-5
    assert found.notes == {}


def test_a_scaled_rate_has_no_noise_in_its_last_digits(make_space: MakeSpace) -> None:
    for factor in (3, 7, 0.1, 33.3, 1.1):
        own = preset(methods={"toy": {"learning_rate_factor": factor}})
        (rate,) = values(make_space(ONE_GRID), None, "learning_rate", preset=own)
        assert rate == float(f"{3e-5 * factor:.12g}")
        assert len(repr(rate)) <= 9
    own = preset(methods={"toy": {"learning_rate_factor": 3}})
    assert values(make_space(ONE_GRID), None, "learning_rate", preset=own) == [9e-5]


def test_a_preset_that_fits_another_space_is_an_error(make_space: MakeSpace) -> None:
    space = make_space(ONE_GRID)
    wrong: list[tuple[Preset, str]] = [
        (preset(values={"alhpa": 1}), "preset own, .*alhpa: no hyperparameter .* perhaps 'alpha'"),
        (preset(values={"alpha": "x"}), "preset own, .*alpha: 'x' is no number"),
        (preset(methods={"tyo": {}}), "preset own, methods: no method 'tyo', perhaps 'toy'"),
        (preset(methods={"toy": {"max_trials": {"h": 1}}}), "max_trials: no grid 'h'"),
    ]
    for found, message in wrong:
        with pytest.raises(UserError, match=message):
            space.points("g", preset=found)


def test_values_of_a_preset_file_keep_their_place(make_space: MakeSpace, tmp_path: Path) -> None:
    from embedsearch.presets import load_preset

    path = tmp_path / "mine.yaml"
    path.write_text("backbone: a\ncorpus: b\ndev: c\nsteps: 1\nvalues:\n  alpha: 1:30\n")
    with pytest.raises(UserError, match=r"mine\.yaml, line 6, values\.alpha: '1:30' is no number"):
        make_space(ONE_GRID).points("g", preset=load_preset(path))


def test_an_override_that_fits_nothing_is_an_error(make_space: MakeSpace) -> None:
    space = make_space(ONE_GRID)
    with pytest.raises(
        UserError, match=r"^command line, alhpa: .*perhaps 'alpha' \(there is batch"
    ):
        space.points("g", overrides={"alhpa": "1"})
    with pytest.raises(UserError, match=r"^command line, width: '1:30' is no whole number$"):
        space.points("g", overrides={"width": "1:30"})
    with pytest.raises(UserError, match=r"^command line, r_a: '2' should be less than 1$"):
        space.points("g", overrides={"r_a": "2"})
    assert values(space, None, "dropout", overrides={"dropout": "none"}) == [None]
    assert values(space, None, "head", overrides={"head": "none"}) == ["none"]


def test_an_unknown_grid_gets_the_nearest_and_the_list(make_space: MakeSpace) -> None:
    space = make_space("grids: {coarse: {about: steps of ten}, fine: {}}")
    with pytest.raises(
        UserError, match=r"no grid 'corase', perhaps 'coarse' \(there is coarse, fine"
    ):
        space.points("corase")
    assert {name: grid.about for name, grid in space.grids.items()} == {
        "coarse": "steps of ten",
        "fine": "",
    }


def test_families_have_their_own_values(make_space: MakeSpace) -> None:
    space = make_space(
        "grids: {p: {values: {r_a: 0.1, r_b: 0.2},"
        " families: {bert: {alpha: 1}, roberta: {alpha: [2, 3], r_b: 0.3}}}}"
    )
    bert = space.points("p", family="bert")
    assert [point.values["alpha"] for point in bert.points] == [1]
    assert bert.notes == {"family": "bert"}
    assert values(space, "p", "alpha", family="roberta") == [2, 3]
    assert values(space, "p", "r_b", family="roberta") == [0.3, 0.3]
    with pytest.raises(UserError, match=r"grids\.p: has values for bert and roberta .* 'electra'"):
        space.points("p", family="electra")
