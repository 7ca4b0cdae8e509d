"""Space files: what they may hold, and where they are found."""

from __future__ import annotations

from pathlib import Path

import pytest

from embedsearch.errors import UserError
from embedsearch.sweep.catalogue import find_space, space_names
from embedsearch.sweep.space import load_space
from tests.sweep.test_space import MakeSpace, make_space

__all__ = ["make_space"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("gird: {}", r"line 2, gird: no key 'gird', perhaps 'grids'"),
        ("fixed: {}", "the key 'grids' is missing"),
        ("grids: {g: }", r"line 2, grids\.g: an empty value is no mapping"),
        ("grids:\n  g: {vaules: {}}", r"line 3, grids\.g\.vaules: .*perhaps 'values'"),
        ("grids:\n  g:\n    values:\n      alhpa: 1", r"line 5, .*\.alhpa: .*perhaps 'alpha'"),
        (
            "grids:\n  g:\n    values:\n      alpha: []",
            r"line 5, grids\.g\.values\.alpha: an empty",
        ),
        ("grids: {g: {values: {alpha: [1, true]}}}", r"values\.alpha\[1\]: 'true' is no number"),
        ("grids: {g: {values: {alpha: [1, 1:30]}}}", r"alpha\[1\]: '1:30' is no number"),
        ("grids: {g: {values: {alpha: -1}}}", r"alpha: '-1' should be greater than or equal"),
        ("grids: {g: {values: {alpha: }}}", r"alpha: an empty value is no number"),
        ("grids: {g: {values: {alpha: {}}}}", r"alpha: write \{start, stop, step\}"),
        ("grids: {g: {values: {alpha: {strat: 1}}}}", r"alpha: write \{start, stop, step\}"),
        ("grids: {g: {values: {head: [mpl]}}}", r"head\[0\]: 'mpl' should be 'mlp' or 'none'"),
        ("grids: {g: {families: {bert: {alhpa: 1}}}}", r"families\.bert\.alhpa: .*'alpha'"),
        ("grids: {g: {families: {bert: 1}}}", r"families\.bert: '1' is no mapping"),
        ("fixed: {alpha: [1]}\ngrids: {}", r"line 2, fixed\.alpha: takes a single value"),
        ("fixed: {width: 1.5}\ngrids: {}", r"line 2, fixed\.width: '1\.5' is no whole number"),
        ("conditions: [r_a < r_c]\ngrids: {}", r"line 2, conditions\[0\]: .*'r_c'"),
        ("grids: {g: {conditions: [r_a <]}}", r"grids\.g\.conditions\[0\]: 'r_a <' is no cond"),
        ("conditions: r_a < r_b\ngrids: {}", r"conditions: 'r_a < r_b' is no list"),
        ("grids: {fine: {around: corse}, coarse: {}}", r"fine\.around: .*perhaps 'coarse'"),
        (
            "grids: {g: {values: {alpha: {step: 1, within: 2}}}}",
            r"values\.alpha: depends on a centre",
        ),
    ],
)
def test_a_file_is_checked_whole(make_space: MakeSpace, text: str, message: str) -> None:
    with pytest.raises(UserError, match=message) as caught:
        make_space(text)
    assert "toy.yaml" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_class_that_is_no_method_is_named_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    for target in ("nowhere:X", "embedsearch.records:Point", "tests.sweep.test_space:Nothing", "x"):
        path.write_text(f"grids: {{}}\nmethod: {target}\n")
        with pytest.raises(UserError, match=r"x\.yaml, line 2, method: "):
            load_space(path)


def test_an_own_space_wins_over_the_shipped_one(tmp_path: Path) -> None:
    folder = tmp_path / "search_spaces"
    assert find_space("scd").parent != folder
    folder.mkdir()
    (folder / "scd.yaml").write_text("")
    (folder / "mine.yaml").write_text("")
    assert find_space("scd").resolve() == folder / "scd.yaml"
    assert find_space("mine").resolve() == folder / "mine.yaml"
    assert find_space("simcse").resolve().parent != folder
    assert {"scd", "simcse", "frozen", "mine"} <= set(space_names())
    assert find_space("mine", folder=folder) == folder / "mine.yaml"


def test_an_unknown_method_gets_the_nearest_and_the_list() -> None:
    for name in ("sdc", "../scd", "scd.yaml", ""):
        with pytest.raises(UserError, match=r"no method '.*\(there is .*frozen.*scd.*simcse"):
            find_space(name)


def test_an_installed_package_finds_its_spaces_inside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from embedsearch.sweep import catalogue

    package = tmp_path / "site" / "embedsearch"
    (package / "search_spaces").mkdir(parents=True)
    monkeypatch.setattr(catalogue, "_PACKAGE", package)
    assert catalogue.shipped_folder() == package / "search_spaces"
    (package / "experiments").mkdir()
    (package / "experiments" / "table.yaml").write_text("")
    assert catalogue.find_experiment("table") == package / "experiments" / "table.yaml"
