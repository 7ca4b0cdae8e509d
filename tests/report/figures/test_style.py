"""The shared style: pairs of colour and marker, and no global state of matplotlib's."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from embedsearch.report.figures.style import COLOURS, MARKERS, canvas, look, save


def test_colours_with_markers_repeat_late() -> None:
    pairs = [look(number) for number in range(len(COLOURS) * len(MARKERS))]
    assert len(set(pairs)) == 70
    assert look(70) == look(0)


def test_colours_differ_in_grey_from_paper() -> None:
    """Contrast against white of at least 1.9: Okabe and Ito's yellow has 1.3."""
    for colour in COLOURS:
        channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
        light = sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))
        assert 1.05 / (light + 0.05) > 1.9, colour


def test_a_canvas_has_its_size(tmp_path: Path) -> None:
    figure, axes = canvas(4, 2, "title")
    assert figure.axes == [axes]
    save(figure, tmp_path / "figure.png")
    header = (tmp_path / "figure.png").read_bytes()
    assert (int.from_bytes(header[16:20]), int.from_bytes(header[20:24])) == (600, 300)


def test_drawing_leaves_the_process_alone(tmp_path: Path) -> None:
    program = (
        "import sys, matplotlib\n"
        "from pathlib import Path\n"
        "before = matplotlib.rcParams.copy()\n"
        "from embedsearch.report.figures.style import canvas, save\n"
        f"save(canvas(2, 2)[0], Path({str(tmp_path / 'figure.png')!r}))\n"
        "assert matplotlib.rcParams.copy() == before\n"
        "assert 'matplotlib.pyplot' not in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
