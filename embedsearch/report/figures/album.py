"""All figures of an evaluation, of one encoder or several together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from embedsearch.report.figures.curves import augmentation_figure, neighbourhood_figure
from embedsearch.report.figures.inference import inference_figure
from embedsearch.report.figures.map import map_figure
from embedsearch.report.figures.plane import plane_figure
from embedsearch.report.figures.style import save

Arrays = Mapping[str, Mapping[str, NDArray[Any]]]
"""By task, what its figure is drawn from."""


@dataclass(frozen=True)
class Page:
    """One encoder: what it is called, its evaluation, and the arrays of its tasks."""

    name: str
    found: Mapping[str, Any]
    arrays: Arrays


def draw_album(pages: Sequence[Page], folder: Path) -> list[Path]:
    """Write a PNG for each figure there is something of, and name them."""
    drawn = []
    for name, figure in _figures(pages):
        folder.mkdir(parents=True, exist_ok=True)
        drawn.append(folder / f"{name}.png")
        save(figure, drawn[-1])
    return drawn


def _figures(pages: Sequence[Page]) -> Iterator[tuple[str, Figure]]:
    tasks = {task["name"]: task["kind"] for page in pages for task in page.found["tasks"]}
    for task, kind in tasks.items():
        scores = {page.name: _scores(page, task) for page in pages}
        arrays = {page.name: page.arrays[task] for page in pages if page.arrays.get(task)}
        if kind == "geometry":
            if points := _points(scores):
                yield task, plane_figure(points, title=f"alignment and uniformity ({task})")
        elif kind == "neighbourhood":
            yield task, neighbourhood_figure(scores, f"nearest neighbours ({task})")
        elif kind == "augmentation":
            yield task, augmentation_figure(scores, f"texts and their augmentations ({task})")
        elif kind == "inference" and arrays:
            distances = {
                n: {k: v.astype(np.float64) for k, v in a.items()} for n, a in arrays.items()
            }
            yield task, inference_figure(distances, f"premises and hypotheses ({task})")
        elif kind == "map":
            for number, (name, points_of) in enumerate(arrays.items(), start=1):
                file = f"{task}-{number}" if len(arrays) > 1 else task
                yield file, map_figure(points_of, f"{task} by {name}")


def _points(scores: Mapping[str, Mapping[str, float | None]]) -> dict[str, dict[str, float]]:
    """Encoders that have a place on the plane."""
    return {
        name: {
            axis: value for axis in ("alignment", "uniformity") if (value := of[axis]) is not None
        }
        for name, of in scores.items()
        if of.get("alignment") is not None and of.get("uniformity") is not None
    }


def _scores(page: Page, task: str) -> dict[str, float | None]:
    return {
        score["name"]: score["value"]
        for row in page.found["tasks"]
        if row["name"] == task
        for score in row["scores"]
    }
