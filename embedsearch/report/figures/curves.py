"""Scores over the number in their names (``purity@10``), a curve for each encoder."""

from __future__ import annotations

from collections.abc import Mapping

from matplotlib.figure import Figure

from embedsearch.report.figures.style import INK, TEXT, grid, legend_below, look, panels

Found = Mapping[str, Mapping[str, float | None]]
"""By an encoder's name, its scores by theirs; None is left out."""


def neighbourhood_figure(found: Found, title: str = "") -> Figure:
    """Purity and distance of the K nearest neighbours over K (VaSCL's Figure 2a)."""
    shown = {"purity": "neighbours of the same class, %", "distance": "mean distance, 1 − cosine"}
    figure = _curves(found, shown, "nearest neighbours, K", title)
    for axes in figure.axes:
        ticks = axes.get_xticks()
        axes.set_xscale("log")
        axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        axes.minorticks_off()
    return figure


def augmentation_figure(found: Found, title: str = "") -> Figure:
    """Cosine of a text and its explicit augmentation over the words changed (Figure 3b).

    A kind of augmentation that nobody has a score of has no panel.
    """
    kinds = {"wdel": "words deleted", "wnet": "WordNet synonyms", "ctxt": "masked model's words"}
    shown = {
        kind: f"cosine, {text}"
        for kind, text in kinds.items()
        if any(_over(scores, kind) for scores in found.values())
    }
    return _curves(found, shown, "words changed, %", title)


def _curves(found: Found, shown: Mapping[str, str], across: str, title: str) -> Figure:
    figure, row = panels(len(shown), 1 + 3.2 * len(shown), 4, title)
    for axes, (what, about) in zip(row, shown.items(), strict=True):
        curves = {name: _over(scores, what) for name, scores in found.items()}
        for number, curve in enumerate(curves.values()):
            colour, marker = look(number)
            axes.plot(list(curve), list(curve.values()), f"{marker}-", color=colour, markersize=5)
        axes.set_xticks(sorted({x for curve in curves.values() for x in curve}))
        axes.set_title(about, fontsize=TEXT, color=INK)
        axes.set_xlabel(across, fontsize=TEXT, color=INK)
        grid(axes)
    legend_below(figure, row[0].lines, list(found))
    return figure


def _over(scores: Mapping[str, float | None], what: str) -> dict[float, float]:
    """The scores named ``WHAT@NUMBER`` by their number, from the smallest on."""
    split = [(name.partition("@"), value) for name, value in scores.items()]
    there = {
        float(number): value
        for (word, _, number), value in split
        if word == what and value is not None
    }
    return dict(sorted(there.items()))
