"""Trials that only wait, and fail in every way a trial can; a worker of theirs imports no torch."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from enum import StrEnum

from embedsearch.place import Place
from embedsearch.records import Measurement, Status, TrialResult, TrialSpec

REPORTS = 3
Report = Callable[[Measurement], None]


class Fate(StrEnum):
    FINISHES = "finishes"
    DIVERGES = "diverges"
    FAILS = "fails"
    RUNS_OUT_OF_MEMORY = "runs out of memory"
    RAISES = "raises"
    LOSES_ITS_WORKER = "loses its worker each time"
    LOSES_ITS_WORKER_ONCE = "loses its worker once, and finishes"


ENDS = {
    Fate.FINISHES: Status.FINISHED,
    Fate.DIVERGES: Status.DIVERGED,
    Fate.FAILS: Status.FAILED,
    Fate.RUNS_OUT_OF_MEMORY: Status.OUT_OF_MEMORY,
    Fate.RAISES: Status.FAILED,
    Fate.LOSES_ITS_WORKER: Status.FAILED,
    Fate.LOSES_ITS_WORKER_ONCE: Status.FINISHED,
}


def fated(spec: TrialSpec, fate: Fate) -> TrialSpec:
    """``spec``, to end so: which is written where nobody looks."""
    return replace(spec, preset=str(fate))


def run(spec: TrialSpec, place: Place, report: Report) -> TrialResult:
    """A trial's waits, reports and end; its score is that of its number, wherever it runs."""
    assert "torch" not in sys.modules
    fate, work = Fate(spec.preset), place.work(spec.id)
    score = round(100 * spec.point.values["alpha"], 3)  # type: ignore[operator]
    work.mkdir(parents=True, exist_ok=True)
    history = [
        Measurement(step, {"dev/spearman": score - REPORTS + step}) for step in range(REPORTS)
    ]
    for measurement in history:
        time.sleep(0.02)
        report(measurement)
    if fate is Fate.RAISES:
        raise RuntimeError("odd thing")
    lost = work / "lost"
    if fate is Fate.LOSES_ITS_WORKER or (fate is Fate.LOSES_ITS_WORKER_ONCE and not lost.exists()):
        lost.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    status = ENDS[fate]
    if status is not Status.FINISHED:
        return TrialResult(spec.id, status, str(fate), seconds=0.1, device_seconds=0.1)
    last = Measurement(REPORTS, {"dev/spearman": score})
    return TrialResult(
        spec.id,
        status,
        start_score=history[0].metrics["dev/spearman"],
        best_score=score,
        best_step=REPORTS,
        history=(*history, last),
        seconds=0.1,
        device_seconds=0.1,
    )
