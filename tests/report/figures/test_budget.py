"""The expected best over its cost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from embedsearch.report.figures.budget import budget_figure
from embedsearch.report.figures.style import save


def method(name: str, *scores: float, **fields: Any) -> dict[str, Any]:
    curve = [
        {"trials": number, "expected": score, "low": score - 1, "high": score + 1}
        for number, score in enumerate(scores, start=1)
    ]
    return {
        "method": name, "curve": curve, "device_seconds_a_trial": 36.0, "confirmed": False,
        "mean": scores[-1], "low": None, "high": None, **fields,
    }  # fmt: skip


def test_a_curve_over_trials_and_one_over_hours(tmp_path: Path) -> None:
    sure = {"confirmed": True, "mean": 61.0, "low": 60.0, "high": 62.0}
    figure = budget_figure([method("scd", 60, 62, 63, **sure), method("gur", 50)])
    trials, hours = figure.axes
    assert list(trials.lines[0].get_xdata()) == [1, 2, 3]  # type: ignore[arg-type]
    assert list(hours.lines[0].get_xdata()) == pytest.approx([0.01, 0.02, 0.03])  # type: ignore[arg-type]
    assert list(hours.lines[0].get_ydata()) == [60, 62, 63]  # type: ignore[arg-type]
    assert len(trials.containers) == 1, "the confirmed mean, of the one that has it"
    assert "open" in figure.get_suptitle()
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["scd", "gur"]
    save(figure, tmp_path / "budget.png")
    assert (tmp_path / "budget.png").read_bytes().startswith(b"\x89PNG")


def test_marks_that_are_not_drawn_are_not_explained() -> None:
    figure = budget_figure([method("scd", 60, 62), method("gur", 50)])
    assert figure.get_suptitle() == "expected best score of a search (band: nine searches in ten)"
