"""A map of texts in the plane, its clusters by colour, marker and number."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke
from numpy.typing import NDArray

from embedsearch.report.figures.style import INK, TEXT, canvas, look, save

_ROWS = 30
"""Of the legend, before it takes another column."""


def draw_map(arrays: Mapping[str, NDArray[np.generic]], title: str, path: Path) -> None:
    """Write the map of ``arrays`` (``x``, ``y`` and ``cluster``, (texts,) each) to ``path``."""
    save(map_figure(arrays, title), path)


def map_figure(arrays: Mapping[str, NDArray[np.generic]], title: str) -> Figure:
    """Each text a point, each cluster's number at its middle, and its size in the legend beside.

    There are no ticks: neither place nor distance on a t-SNE has a unit.
    """
    figure, axes = canvas(8, 6, title)
    axes.set(xticks=[], yticks=[], aspect="equal")
    axes.spines[:].set_visible(False)
    plane = np.column_stack([arrays["x"], arrays["y"]]).astype(float)
    for cluster in np.unique(arrays["cluster"]):
        points = plane[arrays["cluster"] == cluster]
        colour, marker = look(int(cluster))
        name = f"{int(cluster) + 1}"
        axes.scatter(
            points[:, 0],
            points[:, 1],
            s=14,
            c=colour,
            marker=marker,
            linewidths=0,
            label=f"{name}  ({len(points)})",
        )
        text = axes.annotate(
            name,
            _middle(points),
            color=INK,
            fontsize=TEXT + 3,
            weight="bold",
            ha="center",
            va="center",
        )
        text.set_path_effects([withStroke(linewidth=3, foreground="white")])
    figure.legend(
        title="cluster (texts)",
        ncols=1 + len(axes.collections) // _ROWS,
        loc="outside right upper",
        frameon=False,
        markerscale=1.8,
        fontsize=TEXT,
        title_fontsize=TEXT,
        labelcolor=INK,
    )
    return figure


def _middle(points: NDArray[np.float64]) -> tuple[float, float]:
    """The point of (points, 2) that is nearest to their median: it lies among them."""
    distances = np.linalg.norm(points - np.median(points, axis=0), axis=1)
    x, y = points[distances.argmin()]
    return float(x), float(y)
