"""The map's drawing: what is on it, and the file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from matplotlib.collections import PathCollection
from matplotlib.colors import to_hex
from matplotlib.text import Text
from numpy.typing import NDArray

from embedsearch.report.figures.map import draw_map, map_figure

PNG = b"\x89PNG\r\n\x1a\n"


def places(clusters: int = 3, each: int = 20) -> dict[str, NDArray[np.generic]]:
    random = np.random.default_rng(0)
    cluster = np.repeat(np.arange(clusters), each)
    return {
        "x": (cluster * 10 + random.normal(size=len(cluster))).astype(np.float32),
        "y": random.normal(size=len(cluster)).astype(np.float32),
        "cluster": cluster,
    }


def test_every_cluster_has_its_points_its_number_and_its_line_in_the_legend() -> None:
    arrays = places()
    figure = map_figure(arrays, "nano")
    [axes] = figure.axes
    assert axes.get_title(loc="left") == "nano" and not axes.get_xticks().size
    drawn = [c for c in axes.collections if isinstance(c, PathCollection)]
    shown = np.concatenate([np.asarray(points.get_offsets()) for points in drawn])
    assert np.array_equal(shown, np.column_stack([arrays["x"], arrays["y"]]))
    numbers = {text.get_text(): text.get_position() for text in axes.texts}
    assert list(numbers) == ["1", "2", "3"]
    assert [round(x / 10) for x, _ in numbers.values()] == [0, 1, 2], "among its points"
    [legend] = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["1  (20)", "2  (20)", "3  (20)"]


@pytest.mark.parametrize(("clusters", "title"), [(10, "a title"), (40, "words " * 60)])
def test_the_legend_covers_neither_a_point_nor_the_title(clusters: int, title: str) -> None:
    figure = map_figure(places(clusters), title)
    figure.draw_without_rendering()
    [legend], [axes] = figure.legends, figure.axes
    box = legend.get_window_extent()
    [shown] = [text for text in axes.findobj(Text) if text.get_text().startswith(title[:5])]
    assert box.x0 >= axes.get_window_extent().x1 and box.y0 >= 0
    assert box.x0 >= shown.get_window_extent().x1


def test_no_two_clusters_look_alike_without_colour_neither() -> None:
    [axes] = map_figure(places(10, each=3), "").axes
    drawn = [c for c in axes.collections if isinstance(c, PathCollection)]
    shapes = {points.get_paths()[0].vertices.tobytes() for points in drawn}
    colours = [to_hex(points.get_facecolor()[0]) for points in drawn]
    assert len(shapes) == 10 and len(set(colours[:7])) == 7


@pytest.mark.parametrize("title", ["plain", "$x_{", "long " * 60, "日本語 🎉", ""])
def test_writes_a_png_whatever_the_title(title: str, tmp_path: Path) -> None:
    target = tmp_path / "new" / "map.png"
    draw_map(places(), title, target)
    assert target.read_bytes().startswith(PNG)
    assert [path.name for path in target.parent.iterdir()] == ["map.png"]


def test_the_same_map_is_the_same_file(tmp_path: Path) -> None:
    for name in ("one", "other"):
        draw_map(places(), "nano", tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "other").read_bytes()
