"""What a sweep shows while it runs: a live view on a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import cached_property

from rich.console import Console
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from embedsearch.labels import assigned, duration, labels
from embedsearch.records import Measurement, Status, Sweep, TrialResult, TrialSpec

Results = Mapping[str, TrialResult]


class Board:
    """Counts what happens in a command's sweeps; both views read it. Itself it shows nothing."""

    def __init__(
        self,
        console: Console,
        at_once: int,
        seconds_per_trial: float | None = None,
        names: Mapping[str, str] | None = None,
    ) -> None:
        """``seconds_per_trial``: what the ledger knows, until this sweep knows better.

        ``names``: of trials, by spec id, in the place of what varies in their sweep.
        """
        self.console = console
        self.at_once = at_once
        self.expected_s = seconds_per_trial
        self.results: dict[str, TrialResult] = {}
        """In brief: the store has the whole of them."""
        self.latest: dict[str, Measurement] = {}
        self.running: dict[str, TrialSpec] = {}
        self.total = self.reused = 0
        self.given_names = names or {}
        self.names: dict[str, str] = {}
        self.best: tuple[float, str] | None = None
        self.axes: tuple[str, ...] = ()
        self.begun = time.monotonic()

    def sweep_started(self, sweep: Sweep, reused: Results) -> None:
        self.names |= {**labels(sweep.specs), **self.given_names}
        self.axes = sweep.axes
        self.total += sweep.most
        self.reused += len(reused)
        self.results |= reused
        for result in reused.values():
            self._see(result.spec_id, result.best_score)

    def trial_started(self, spec: TrialSpec) -> None:
        self.names.setdefault(spec.id, assigned(spec.point.values, self.axes))
        self.running[spec.id] = spec

    def measured(self, spec: TrialSpec, measurement: Measurement) -> None:
        self.latest[spec.id] = measurement

    def trial_ended(self, spec: TrialSpec, result: TrialResult) -> None:
        self.running.pop(spec.id, None)
        self.latest.pop(spec.id, None)
        self.results[spec.id] = result.brief
        self._see(spec.id, result.best_score)

    def sweep_ended(self, sweep: Sweep, results: Results) -> None:
        self.running.clear()

    @property
    def failed(self) -> int:
        well = (Status.FINISHED, Status.STOPPED)
        return sum(result.status not in well for result in self.results.values())

    @property
    def stopped(self) -> int:
        return sum(result.status is Status.STOPPED for result in self.results.values())

    @property
    def seconds_left(self) -> float | None:
        """Wall seconds to the end, by this sweep's own pace; None before anything is known."""
        left = self.total - len(self.results)
        ended = len(self.results) - self.reused
        if ended:
            return left * (time.monotonic() - self.begun) / ended
        if self.expected_s is None:
            return None
        return left * self.expected_s / self.at_once

    def line(self) -> str:
        """``5/12 done, 2 running, 0 failed, best 58.31 (alpha=0.1), 1m10s left``."""
        done = len(self.results)
        of = f"/{self.total}" if self.total else ""
        parts = [
            f"{done}{of} done",
            f"{len(self.running)} running",
            f"{self.failed} failed",
            *([f"{self.stopped} stopped early"] if self.stopped else []),
        ]
        if self.best:
            parts.append(f"best {self.best[0]:.2f} ({self.best[1]})")
        if self.seconds_left is not None and done < self.total:
            parts.append(f"{duration(self.seconds_left)} left")
        return ", ".join(parts)

    def _see(self, spec_id: str, score: float | None) -> None:
        if score is not None and (self.best is None or score > self.best[0]):
            self.best = score, self.names[spec_id]


class PlainView(Board):
    """A line for each trial that ends, for logs and pipes."""

    def trial_ended(self, spec: TrialSpec, result: TrialResult) -> None:
        super().trial_ended(spec, result)
        self.console.print(
            f"{self.names[spec.id]}: {outcome(result)} | {self.line()}", soft_wrap=True
        )


class LiveView(Board):
    """A view that is redrawn in place: the counts, and what each running trial scores."""

    @cached_property
    def live(self) -> Live:
        return Live(console=self.console, get_renderable=self._draw, refresh_per_second=2)

    def sweep_started(self, sweep: Sweep, reused: Results) -> None:
        super().sweep_started(sweep, reused)
        self.live.start()

    def sweep_ended(self, sweep: Sweep, results: Results) -> None:
        super().sweep_ended(sweep, results)
        self.live.stop()

    def _draw(self) -> Table:
        bar = ProgressBar(total=max(1, self.total), completed=len(self.results), width=40)
        rows = Table.grid(padding=(0, 2))
        for spec_id, spec in list(self.running.items()):
            rows.add_row("  " + self.names[spec_id], _pulse(spec, self.latest.get(spec_id)))
        frame = Table.grid()
        for part in (Text(self.line()), bar, rows):
            frame.add_row(part)
        return frame


def outcome(result: TrialResult) -> str:
    """``58.31 at step 40 (untrained 57.10)``, or the status with its reason."""
    if result.best_score is None:
        return f"{result.status} ({result.reason})" if result.reason else str(result.status)
    start = "" if result.start_score is None else f" (untrained {result.start_score:.2f})"
    return f"{result.best_score:.2f} at step {result.best_step}{start}"


def _pulse(spec: TrialSpec, seen: Measurement | None) -> str:
    if seen is None:
        return "starting"
    score = seen.metrics.get("dev/spearman")
    shown = "" if score is None else f", {score:.2f}"
    return f"step {seen.step}/{spec.total_steps}{shown}"
