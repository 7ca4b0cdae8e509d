"""What all figures share: colours and markers told apart without colour vision, and the page."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from textwrap import fill
from typing import Literal

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from embedsearch.durable import write_whole
from embedsearch.errors import UserError

COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#6E6E6E")
"""Okabe and Ito's; grey for their black, which is for text, and no yellow, which is too pale."""

MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "*")
"""As filled shapes; with the colours, 70 pairs before one comes again."""

INK, FAINT = "#222222", "#BBBBBB"
DPI = 150
TEXT = 9.0
"""Points, of all text but the title."""

_CHARACTERS = 8.5
"""Of a title, to an inch of the page: it leaves room for a legend beside the axes."""


def look(number: int) -> tuple[str, str]:
    """Colour and marker of the ``number``-th thing shown, from 0."""
    return COLOURS[number % len(COLOURS)], MARKERS[number % len(MARKERS)]


def canvas(width: float, height: float, title: str = "") -> tuple[Figure, Axes]:
    """An empty figure, in inches, and its axes: two faint spines, the title at the left.

    It is of no pyplot, so nothing has to close it, and no backend is chosen for the process.
    """
    figure, (axes,) = panels(1, width, height)
    axes.set_title(
        _filled(title, width), loc="left", fontsize=TEXT + 2, color=INK, parse_math=False
    )
    return figure, axes


def panels(count: int, width: float, height: float, title: str = "") -> tuple[Figure, list[Axes]]:
    """As ``canvas``, with several axes side by side under one title."""
    figure = Figure(figsize=(width, height), dpi=DPI, layout="constrained", facecolor="white")
    if title:
        lines = _filled(title, width)
        figure.suptitle(lines, x=0.01, ha="left", fontsize=TEXT + 2, color=INK, parse_math=False)
    row = list(figure.subplots(1, count, squeeze=False)[0])
    for axes in row:
        axes.spines[["top", "right"]].set_visible(False)
        axes.spines[["left", "bottom"]].set_color(FAINT)
        axes.tick_params(colors=INK, labelsize=TEXT, color=FAINT)
    return figure, row


def legend_below(figure: Figure, handles: Sequence[Artist], names: Sequence[str]) -> None:
    """One legend for all panels, in as many columns as the page is wide."""
    longest = max(map(len, names)) + 6  # and its line
    columns = max(1, int(1.3 * _CHARACTERS * figure.get_figwidth() / longest))
    figure.legend(
        handles,
        names,
        loc="outside lower center",
        ncols=min(len(names), columns),
        frameon=False,
        fontsize=TEXT,
        labelcolor=INK,
    )


def grid(axes: Axes, axis: Literal["both", "x", "y"] = "both") -> None:
    """Lines to read a value by, under what is drawn."""
    axes.grid(axis=axis, color=FAINT, linewidth=0.4, alpha=0.6)
    axes.set_axisbelow(True)


def must_be_png(path: Path) -> None:
    """Raise ``UserError`` where ``save`` would write a PNG under another name's ending."""
    if path.suffix.lower() != ".png":
        raise UserError(f"{path}: figures are written as PNG, give a name that ends in .png")


def save(figure: Figure, path: Path) -> None:
    """Write ``figure`` as PNG, whole or not at all; the same numbers give the same bytes."""

    def write(draft: Path) -> None:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Glyph")  # in a title: shown as a box
            figure.savefig(draft, format="png", metadata={"Software": None})

    write_whole(path, write)


def _filled(title: str, width: float) -> str:
    return fill(title, int(_CHARACTERS * width), max_lines=3, placeholder=" …")
