"""Curves over the number in a score's name, and spreads of distances."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from embedsearch.report.figures.curves import augmentation_figure, neighbourhood_figure
from embedsearch.report.figures.inference import inference_figure
from embedsearch.report.figures.style import save


def test_a_curve_is_its_scores_from_the_smallest_k_on() -> None:
    figure = neighbourhood_figure(
        {
            "nano": {"purity@10": 50.0, "purity@2": 60.0, "distance@2": 0.3, "other": 1.0},
            "simcse": {"purity@2": 70.0, "purity@10": None, "distance@2": 0.5},
        }
    )
    purity, distance = figure.axes
    curves = [(list(line.get_xdata()), list(line.get_ydata())) for line in purity.lines]  # type: ignore[arg-type]
    assert curves == [([2, 10], [60, 50]), ([2], [70])]
    assert [tick.get_text() for tick in purity.get_xticklabels()] == ["2", "10"]
    assert [list(line.get_ydata()) for line in distance.lines] == [[0.3], [0.5]]  # type: ignore[arg-type]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["nano", "simcse"]
    assert {axes.get_xscale() for axes in figure.axes} == {"log"}


def test_an_augmentation_that_nobody_has_has_no_panel() -> None:
    scores = {"wdel@5": 0.9, "wdel@20": 0.8, "wnet@5": None, "ctxt@5": None}
    assert len(augmentation_figure({"nano": scores}).axes) == 1
    assert len(augmentation_figure({"nano": scores | {"ctxt@5": 0.7}}).axes) == 2


def test_spreads_of_distances_and_their_ratio(tmp_path: Path) -> None:
    apart = {
        "entailment": np.array([0.2, 0.3, 0.9]),
        "contradiction": np.array([0.4, 0.3, 0.0]),
    }
    same = {"entailment": np.zeros(2), "contradiction": np.zeros(2)}
    figure = inference_figure({"nano": apart, "constant": same}, title="SNLI dev")
    left, right = figure.axes
    medians = [float(line.get_xdata()[0]) for line in left.lines]  # type: ignore[index, arg-type]
    assert medians == pytest.approx([0.3, 0.3, 0, 0])
    ratios = [line for line in right.lines if line.get_marker() == "D"]
    assert [float(line.get_xdata()[0]) for line in ratios] == pytest.approx([0.75])  # type: ignore[index, arg-type]
    save(figure, tmp_path / "inference.png")
    assert (tmp_path / "inference.png").stat().st_size > 0
