"""Trials that only wait and report, so that all that a sweep of them costs is its driver's.

What a worker imports for them is here, and is no torch.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from embedsearch.place import Place
from embedsearch.records import Measurement, Status, TrialResult, TrialSpec

PAIRS = 500
"""Dev pairs whose similarities a result has, as many as the demo's."""


@dataclass(frozen=True)
class Waiting:
    """In the place of ``trial.run``: a report at each step, ``seconds`` in all."""

    seconds: float
    gate: Path
    """Made once as many trials run as can: none begins before."""

    def __call__(
        self, spec: TrialSpec, place: Place, report: Callable[[Measurement], None]
    ) -> TrialResult:
        """Failed where the worker holds torch, which a trial that waits has no use for."""
        if "torch" in sys.modules:
            return TrialResult(spec.id, Status.FAILED, "its worker has imported torch")
        history = []
        for step, metrics in _steps(spec.total_steps, self.seconds, self.gate):
            history.append(Measurement(step, metrics))
            report(history[-1])
        alpha = float(spec.point.values["alpha"] or 0)
        return TrialResult(
            spec.id,
            Status.FINISHED,
            start_score=50.0,
            best_score=50 + 10 * alpha,
            best_step=spec.total_steps,
            history=tuple(history),
            seconds=self.seconds,
            device_seconds=self.seconds * place.devices,
            similarities=tuple((pair + alpha) / PAIRS for pair in range(PAIRS)),
        )


def bare(config: Mapping[str, Any]) -> None:
    """The same as a function of Ray Tune's, which is told nothing but the numbers."""
    from ray import tune

    for step, metrics in _steps(config["steps"], config["seconds"], config["gate"]):
        tune.report({"step": step, **metrics})


def _steps(steps: int, seconds: float, gate: Path) -> Iterator[tuple[int, dict[str, float]]]:
    """Each step, once its time is over, and numbers as a method of two terms has them."""
    while not gate.exists():
        time.sleep(0.1)
    for step in range(1, steps + 1):
        time.sleep(seconds / steps)
        yield (
            step,
            {
                "dev/spearman": 50 + step / steps,
                "loss": 1 / step,
                "loss/first": 0.6 / step,
                "loss/second": 0.4 / step,
                "sentences_per_s": 1000.0 + step,
            },
        )
