"""The plane: every encoder a point of its own look and a name that covers nothing."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Annotation, Text
from matplotlib.transforms import Bbox

from embedsearch.report.figures.plane import plane_figure
from embedsearch.report.figures.style import save

Found = dict[str, dict[str, float]]


def crowd(count: int) -> Found:
    drawn = np.random.default_rng(0).normal(size=(count, 2)) * 0.05
    return {
        f"simcse, seed {i}": {"uniformity": u - 2, "alignment": a} for i, (u, a) in enumerate(drawn)
    }


def names_of(figure: Figure) -> list[Annotation]:
    return [text for text in figure.axes[0].texts if isinstance(text, Annotation)]


def boxes(figure: Figure) -> list[Bbox]:
    figure.draw_without_rendering()
    for name in names_of(figure):
        name.get_window_extent()  # puts it in its place
    return [Text.get_window_extent(name) for name in names_of(figure)]


def test_uniformity_is_across_and_alignment_up() -> None:
    figure = plane_figure({"scd": {"uniformity": -3.83, "alignment": 0.84}}, {"scd": 74.19})
    (line,) = figure.axes[0].lines
    assert (line.get_xdata()[0], line.get_ydata()[0]) == (-3.83, 0.84)  # type: ignore[index]
    assert [name.get_text() for name in names_of(figure)] == ["scd (74.2)"]


@pytest.mark.parametrize("count", [1, 2, 10])
def test_no_name_covers_a_name_or_a_point(count: int) -> None:
    found = crowd(count) | {"far $away": {"uniformity": 0.0, "alignment": 0.0}}
    figure = plane_figure(found)
    written = boxes(figure)
    assert len(written) == count + 1
    assert not [pair for pair in combinations(written, 2) if pair[0].overlaps(pair[1])]
    axes = figure.axes[0]
    points = axes.transData.transform([(v["uniformity"], v["alignment"]) for v in found.values()])
    assert not [box for box in written for point in points if box.contains(*point)]
    assert all(axes.bbox.containsx(box.x0) and axes.bbox.containsx(box.x1) for box in written)


def test_more_names_than_there_is_room_for_are_all_written() -> None:
    assert len(names_of(plane_figure(crowd(60)))) == 60


def test_every_look_is_another() -> None:
    lines = plane_figure(crowd(30)).axes[0].lines
    assert len({(line.get_color(), line.get_marker()) for line in lines}) == 30


def test_the_same_numbers_give_the_same_file(tmp_path: Path) -> None:
    for name in ("one.png", "two.png"):
        save(plane_figure(crowd(4), title="a plane"), tmp_path / name)
    assert (tmp_path / "one.png").read_bytes() == (tmp_path / "two.png").read_bytes()
    assert (tmp_path / "one.png").read_bytes().startswith(b"\x89PNG")
