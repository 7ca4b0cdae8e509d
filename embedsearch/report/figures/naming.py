"""Names beside points, none of them over another name or point."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product

from matplotlib.axes import Axes
from matplotlib.patheffects import withStroke
from matplotlib.transforms import Bbox

from embedsearch.report.figures.style import INK, TEXT

_RADII = (7, 14, 24, 36, 50, 66)
"""Points of a name's distance; from the second on a thin line leads to it."""
_SIDES = ((1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (1, -1), (-1, 1), (-1, -1))
_PLACES = tuple(product(_RADII, _SIDES))
_ACROSS = {1: "left", 0: "center", -1: "right"}
_UP = {1: "bottom", 0: "center", -1: "top"}
_MARKER = 5
"""Half a marker, in points."""

_Place = tuple[int, tuple[int, int]]


def name_points(axes: Axes, points: Mapping[str, tuple[float, float]]) -> None:
    """Write each name beside its point, at the nearest place that is free and inside ``axes``.

    What is drawn must be there before, for the panel stays as it is then. A name without a free
    place stands at the last of all.
    """
    figure = axes.get_figure(root=True)
    assert figure is not None
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    pixels = figure.dpi / 72
    centres = axes.transData.transform(list(points.values()))
    half = _MARKER * pixels
    taken = [Bbox.from_bounds(x - half, y - half, 2 * half, 2 * half) for x, y in centres]
    for (name, point), centre in zip(points.items(), centres, strict=True):
        size = _size(axes, name)
        boxes = {place: _box(centre, size, place, pixels) for place in _PLACES}
        free = (place for place, box in boxes.items() if _free(box, axes.bbox, taken))
        place = next(free, _PLACES[-1])
        taken.append(boxes[place])
        _write(axes, name, point, place, depth=len(taken))


def _size(axes: Axes, name: str) -> tuple[float, float]:
    """Width and height of a written name, in pixels."""
    text = axes.text(0, 0, name, fontsize=TEXT - 1, parse_math=False)
    extent = text.get_window_extent()
    text.remove()
    return extent.width, extent.height


def _box(
    centre: tuple[float, float], size: tuple[float, float], place: _Place, pixels: float
) -> Bbox:
    """What a name covers in a place beside ``centre``."""
    radius, side = place
    left, bottom = (
        at + radius * pixels * toward + length * (toward - 1) / 2
        for at, length, toward in zip(centre, size, side, strict=True)
    )
    return Bbox.from_bounds(left, bottom, *size)


def _free(box: Bbox, panel: Bbox, taken: list[Bbox]) -> bool:
    inside = panel.x0 <= box.x0 and box.x1 <= panel.x1 and panel.y0 <= box.y0 and box.y1 <= panel.y1
    return bool(inside) and box.count_overlaps(taken) == 0


def _write(axes: Axes, name: str, point: tuple[float, float], place: _Place, depth: int) -> None:
    """The deeper a name, the more other names lie over the line that leads to it."""
    radius, (across, up) = place
    line = {"arrowstyle": "-", "color": INK, "linewidth": 0.5, "shrinkA": 0, "shrinkB": 3}
    written = axes.annotate(
        name,
        point,
        (radius * across, radius * up),
        textcoords="offset points",
        fontsize=TEXT - 1,
        color=INK,
        parse_math=False,
        ha=_ACROSS[across],
        va=_UP[up],
        zorder=4 - depth / (depth + 1),
        arrowprops=line if radius > _RADII[0] else None,
    )
    written.set_path_effects([withStroke(linewidth=2, foreground="white")])
