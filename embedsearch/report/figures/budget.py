"""What a search is expected to find, over what it costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator

from embedsearch.report.figures.style import INK, TEXT, grid, legend_below, look, panels

_TITLE = "expected best score of a search (band: nine searches in ten)"
_CONFIRMED = ", and, open, the mean of its best point under fresh seeds (95 %)"


def budget_figure(methods: Sequence[Mapping[str, Any]]) -> Figure:
    """Expected best dev score over trials and over device-hours, with its band, a curve for each
    method, as ``Standings.to_json`` has them. Beside the end of a search stands the mean of its
    best point under fresh seeds, where it is confirmed, with its interval.
    """
    open_marks = _CONFIRMED if any(one["confirmed"] for one in methods) else ""
    figure, row = panels(2, 9, 4.6, _TITLE + open_marks)
    hours = [one["device_seconds_a_trial"] / 3600 for one in methods]
    sides = {"finished trials": [1.0] * len(methods), "device-hours": hours}
    for axes, (across, a_trial) in zip(row, sides.items(), strict=True):
        lines = [
            _draw(axes, one, each, look(number))
            for number, (one, each) in enumerate(zip(methods, a_trial, strict=True))
        ]
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 3)))
        axes.xaxis.set_major_formatter("{x:g}")
        axes.minorticks_off()
        axes.set_xlabel(across, fontsize=TEXT, color=INK)
        grid(axes)
    row[0].set_ylabel("expected best dev score", fontsize=TEXT, color=INK)
    row[1].sharey(row[0])
    legend_below(figure, lines, [one["method"] for one in methods])
    return figure


def _draw(axes: Axes, one: Mapping[str, Any], each: float, shown: tuple[str, str]) -> Line2D:
    """The curve; ``each``: what a trial is on the axis."""
    colour, marker = shown
    curve = one["curve"]
    across = [best["trials"] * each for best in curve]
    low, high, expected = ([best[k] for best in curve] for k in ("low", "high", "expected"))
    axes.fill_between(across, low, high, color=colour, alpha=0.15, linewidth=0)
    (line,) = axes.plot(
        across,
        expected,
        f"{marker}-",
        color=colour,
        markersize=5,
        markevery=max(1, len(curve) // 6),
    )
    if one["confirmed"]:
        reach = [[one["mean"] - one["low"]], [one["high"] - one["mean"]]]
        axes.errorbar(
            1.15 * across[-1], one["mean"], yerr=reach, fmt=marker, color=colour,
            markerfacecolor="white", markersize=6, capsize=3, linewidth=1,
        )  # fmt: skip
    return line
