"""Distances of entailment and contradiction pairs (VaSCL's Figure 2b)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from embedsearch.report.figures.style import INK, TEXT, grid, legend_below, look, panels

Distances = NDArray[np.float64]

_SHIFT = 0.17
"""Of the two spreads of a row, from its middle."""


def inference_figure(found: Mapping[str, Mapping[str, Distances]], title: str = "") -> Figure:
    """How far entailments and contradictions lie from their premises, and the ratio of the two.

    ``found`` holds by an encoder's name each premise's distance to its ``entailment`` and to its
    ``contradiction``. Drawn are median, quartiles (thick) and the middle 90 % (thin); a premise
    whose contradiction is at distance 0 has no ratio.
    """
    figure, (left, right) = panels(2, 8, 1.6 + 0.5 * len(found), title)
    for row, apart in enumerate(found.values()):
        entailed, contradicted = apart["entailment"], apart["contradiction"]
        _spread(left, entailed, row - _SHIFT, look(0))
        _spread(left, contradicted, row + _SHIFT, look(1))
        some = contradicted > 0
        _spread(right, entailed[some] / contradicted[some], row, (INK, "D"))
    right.axvline(1, color=INK, linewidth=0.8, linestyle="--")
    left.set_xlabel("distance to the premise, 1 − cosine", fontsize=TEXT, color=INK)
    right.set_xlabel("← better   entailment / contradiction", fontsize=TEXT, color=INK)
    for axes, names in ((left, list(found)), (right, [""] * len(found))):
        axes.set_yticks(range(len(found)), names, parse_math=False)
        axes.set_ylim(len(found) - 0.5, -0.5)
        grid(axes, "x")
    legend_below(figure, left.lines[:2], ["entailment", "contradiction"])
    return figure


def _spread(axes: Axes, values: Distances, y: float, shown: tuple[str, str]) -> None:
    if len(values) == 0:
        return
    colour, marker = shown
    low, first, middle, third, high = np.quantile(values, (0.05, 0.25, 0.5, 0.75, 0.95))
    axes.hlines(y, low, high, color=colour, linewidth=1)
    axes.hlines(y, first, third, color=colour, linewidth=4, alpha=0.5)
    axes.plot(middle, y, marker, color=colour, markersize=6)
