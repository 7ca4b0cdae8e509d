"""The plane of alignment and uniformity (SCD's Figure 2, InforMin's Figure 3)."""

from __future__ import annotations

from collections.abc import Mapping

from matplotlib.figure import Figure

from embedsearch.report.figures.naming import name_points
from embedsearch.report.figures.style import INK, TEXT, canvas, grid, look


def plane_figure(
    found: Mapping[str, Mapping[str, float]],
    scores: Mapping[str, float] | None = None,
    title: str = "",
) -> Figure:
    """Every encoder's ``uniformity`` and ``alignment``, its name beside it.

    ``found`` holds the two by an encoder's name; ``scores`` what is written behind a name, as the
    papers colour their points by the average STS.
    """
    figure, axes = canvas(6, 4, title)
    points = {}
    for number, (name, values) in enumerate(found.items()):
        colour, marker = look(number)
        point = values["uniformity"], values["alignment"]
        axes.plot(*point, marker, color=colour, markersize=7)
        score = (scores or {}).get(name)
        points[name if score is None else f"{name} ({score:.1f})"] = point
    axes.margins(0.12)
    axes.set_xlabel("← better   uniformity", color=INK, fontsize=TEXT)
    axes.set_ylabel("← better   alignment", color=INK, fontsize=TEXT)
    grid(axes)
    name_points(axes, points)
    return figure
