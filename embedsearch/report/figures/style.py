"""What all figures share: colours and markers told apart without colour vision, and the page."""

from __future__ import annotations

import warnings
from pathlib import Path
from textwrap import fill

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from embedsearch.durable import write_whole

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
    figure = Figure(figsize=(width, height), dpi=DPI, layout="constrained", facecolor="white")
    axes = figure.add_subplot()
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(FAINT)
    axes.tick_params(colors=INK, labelsize=TEXT, color=FAINT)
    lines = fill(title, int(_CHARACTERS * width), max_lines=3, placeholder=" …")
    axes.set_title(lines, loc="left", fontsize=TEXT + 2, color=INK, parse_math=False)
    return figure, axes


def save(figure: Figure, path: Path) -> None:
    """Write ``figure`` as PNG, whole or not at all; the same numbers give the same bytes."""

    def write(draft: Path) -> None:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Glyph")  # in a title: shown as a box
            figure.savefig(draft, format="png", metadata={"Software": None})

    write_whole(path, write)
