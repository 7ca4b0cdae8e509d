"""What a sweep may cost, and what it has cost so far."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

from embedsearch.errors import UserError
from embedsearch.labels import count, duration
from embedsearch.records import Spent

NOTHING = Spent()
_SECONDS = {"s": 1, "min": 60, "h": 3600, "d": 86_400}
_WRITTEN = re.compile(r"(\d+(?:\.\d+)?) ?(?:(trials?)|(?:(gpu|cpu|device)-)?(s|min|h|d))")


@dataclass(frozen=True)
class Budget:
    """A bound on one of the three things that are counted; the others are free."""

    written: str
    trials: int | None = None
    seconds: float | None = None
    device_seconds: float | None = None

    @classmethod
    def parse(cls, written: str, device: str) -> Self:
        """``200trials``, ``2h`` on the clock, ``40gpu-h`` of GPUs, ``8cpu-h`` of CPU threads.

        ``device``: what trials hold, ``cuda`` or ``cpu``. Raises ``UserError`` for what is no such
        text, or counts what the trials don't hold.
        """
        match = _WRITTEN.fullmatch(written.strip().lower())
        amount = float(match[1]) if match else 0.0
        if match is None or not amount or (match[2] and amount % 1):
            raise UserError(
                f"--budget {written}: give a number of trials (200trials), a time (90min, 2h, 1d) "
                "or device time (40gpu-h, 8cpu-h)"
            )
        if match[2]:
            return cls(written, trials=int(amount))
        amount *= _SECONDS[match[4]]
        if not match[3]:
            return cls(written, seconds=amount)
        held = "gpu" if device == "cuda" else "cpu"
        if match[3] not in ("device", held):
            raise UserError(f"--budget {written}: the trials hold no {match[3]}s, count {held}s")
        return cls(written, device_seconds=amount)

    def is_spent(self, spent: Spent) -> bool:
        """Whether nothing is left. A bound on trials ends none that has begun."""
        return (self.seconds is not None and spent.seconds >= self.seconds) or (
            self.device_seconds is not None and spent.device_seconds >= self.device_seconds
        )

    def enough_for(self, trial_seconds: float, at_once: int, devices: float) -> int:
        """How many whole trials of so many seconds."""
        if self.seconds is not None:
            return int(self.seconds * at_once / trial_seconds)
        if self.device_seconds is not None:
            return int(self.device_seconds / (trial_seconds * devices))
        return self.trials or 0

    def left(self, spent: Spent) -> str:
        """In words."""
        if self.trials is not None:
            return f"{max(0, self.trials - spent.trials)} of {count(self.trials, 'trial')}"
        if self.seconds is not None:
            return f"{duration(max(0, self.seconds - spent.seconds))} of {self.written}"
        rest = max(0, (self.device_seconds or 0) - spent.device_seconds)
        return f"{duration(rest)} of device time of {self.written}"


class Meter:
    """Counts what a sweep costs while it runs: each trial from when it holds its devices until it
    leaves them, whatever it ends with."""

    def __init__(
        self,
        devices: float,
        before: Spent = NOTHING,
        budget: Budget | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """``before``: what the same sweep has cost in earlier commands."""
        self.devices, self._before, self._budget, self._clock = devices, before, budget, clock
        self._begun: dict[str, float] = {}
        self._ended: set[str] = set()
        self._held = 0.0
        self._since: float | None = None

    def begin(self, trial: str) -> None:
        """Also where the trial had begun: its worker was lost, and the time with it."""
        self.end(trial)
        self._begun[trial] = self._clock()
        self._since = self._begun[trial] if self._since is None else self._since

    def end(self, trial: str) -> float:
        """The device-seconds it held since it began; 0 where it had not."""
        begun = self._begun.pop(trial, None)
        held = 0.0 if begun is None else (self._clock() - begun) * self.devices
        self._held += held
        return held

    def count(self, trial: str) -> None:
        """It came to its end, whatever that is. One that was interrupted has not, and is charged
        as a trial by the command that goes on with it."""
        self._ended.add(trial)

    @property
    def spent(self) -> Spent:
        """Up to now: trials that came to their end, and the time of running ones too."""
        now = self._clock()
        running = sum(now - begun for begun in self._begun.values()) * self.devices
        return Spent(
            trials=self._before.trials + len(self._ended),
            seconds=self._before.seconds + (0.0 if self._since is None else now - self._since),
            device_seconds=self._before.device_seconds + self._held + running,
        )

    @property
    def is_over(self) -> bool:
        return self._budget is not None and self._budget.is_spent(self.spent)
