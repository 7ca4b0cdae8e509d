"""Which figures an evaluation has."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from embedsearch.report.figures.album import Page, draw_album


def task(name: str, kind: str, **scores: float | None) -> dict[str, Any]:
    named = [{"name": key.replace("_at_", "@"), "value": value} for key, value in scores.items()]
    return {"name": name, "kind": kind, "scores": named}


def page(name: str, alignment: float | None = 0.4) -> Page:
    rows = [
        task("alignment", "geometry", alignment=alignment, uniformity=-2.0),
        task("neighbours", "neighbourhood", purity_at_1=70.0, distance_at_1=0.1),
        task("augmented", "augmentation", wdel_at_5=0.9),
        task("snli", "inference", ratio=0.8),
        task("mine", "map", silhouette=0.1),
        task("sts12", "sts", all=40.0),
    ]
    distances = {"entailment": np.array([0.1, 0.2]), "contradiction": np.array([0.3, 0.5])}
    places = {"x": np.arange(4.0), "y": np.arange(4.0), "cluster": np.array([0, 0, 1, 1])}
    return Page(name, {"tasks": rows}, {"snli": distances, "mine": places, "sts12": {}})


def test_a_figure_for_each_thing_to_see(tmp_path: Path) -> None:
    drawn = draw_album([page("one"), page("two")], tmp_path / "new")
    names = ["alignment", "neighbours", "augmented", "snli", "mine-1", "mine-2"]
    assert [path.stem for path in drawn] == names
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in drawn)


def test_an_encoder_without_a_place_is_not_on_the_plane(tmp_path: Path) -> None:
    assert "alignment" not in [path.stem for path in draw_album([page("one", None)], tmp_path)]


def test_nothing_to_see_makes_no_folder(tmp_path: Path) -> None:
    found = {"tasks": [task("sts12", "sts", all=40.0)]}
    assert draw_album([Page("one", found, {"sts12": {}})], tmp_path / "none") == []
    assert not (tmp_path / "none").exists()
