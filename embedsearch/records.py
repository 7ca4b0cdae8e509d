"""The frozen values that pass between the rooms, and what a sweep asks of its surroundings."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from typing import Any, Protocol, Self

Scalar = str | int | float | bool | None

NUMERICS = 2
"""Version of everything that decides a trial's numbers; raised when the same spec would score
differently, so that old scores are not taken for new ones."""

CONFIRM = "confirm"
"""The grid of the trials that run a search's leaders again, under seeds the search had not."""


def content_id(value: Any) -> str:
    """Sixteen hex digits that name a JSON value; equal for equal content, whatever its order."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Point:
    """One choice in a method's search space: every value resolved, defaults included."""

    method: str
    target: str
    """The class, as ``package.module:Class``."""
    values: Mapping[str, Scalar]
    contents: Mapping[str, str] = field(default_factory=dict)
    """Fingerprints of what some values name by its place, by hyperparameter."""

    def reading(self, sources: Mapping[str, Source]) -> Point:
        """The point with what its values name found: where it is, and what is in it."""
        located = {key: source.location for key, source in sources.items()}
        contents = {key: source.fingerprint for key, source in sources.items()}
        return replace(self, values={**self.values, **located}, contents=contents)

    @property
    def identity(self) -> dict[str, Any]:
        """What the point is: the method and its values, contents in the place of locations."""
        values = {**self.values, **self.contents}
        return {"method": self.method, "target": self.target, "values": values}

    @property
    def id(self) -> str:
        """Names the method and its values alone: the same under every seed and on all data."""
        return content_id(self.identity)


@dataclass(frozen=True)
class Source:
    """An input of a trial. Its content is part of the trial's identity, its location is not."""

    location: str
    """A folder, a file or a hub name, readable by every worker; empty when nothing is read."""
    fingerprint: str
    name: str = ""
    """What tables and tags call it (``nano``, ``demo``, ``stsb-dev``)."""


@dataclass(frozen=True)
class TrialSpec:
    """One trial's resolved values, seed and data included."""

    point: Point
    seed: int
    preset: str
    backbone: Source
    corpus: Source
    dev: Source
    total_steps: int
    eval_steps: int
    """A dev score every so many optimiser steps, and after the last."""
    device: str
    """``cpu`` or ``cuda``: the kind, not the card."""
    precision: str
    """``fp32`` or ``bf16``."""
    threads: int
    code: str = ""
    """Names the source of a method that is not the package's own, whose edits no version counts,
    or the revision of one that is."""
    numerics: int = NUMERICS
    chunk_size: int | None = None
    """Rows that a device encodes at once (gradient caching); None for all of a batch."""
    ranks: int = 1
    """Devices that share each batch."""

    @cached_property
    def id(self) -> str:
        """Names the trial: equal when the numbers must be equal, wherever its files lie.

        What a batch is divided by counts where it is divided, for masks are drawn by the part.
        """
        value = {**asdict(self), "point": self.point.identity}
        del value["preset"]
        for key, undivided in (("chunk_size", None), ("ranks", 1)):
            if value[key] == undivided:
                del value[key]
        for key in ("backbone", "corpus", "dev"):
            value[key] = value[key]["fingerprint"]
        return content_id(value)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        sources = {key: Source(**value[key]) for key in ("backbone", "corpus", "dev")}
        return cls(**{**value, "point": Point(**value["point"]), **sources})


@dataclass(frozen=True)
class Measurement:
    """What was seen at one optimiser step (0 is before the first)."""

    step: int
    metrics: Mapping[str, float]
    """``dev/spearman``, ``loss``, ``loss/<term>``, ``sentences_per_s``; finite numbers only."""


class Status(StrEnum):
    """How a trial ended."""

    FINISHED = "finished"
    DIVERGED = "diverged"
    """NaN, zero vectors or constant scores: deterministic, so final."""
    FAILED = "failed"
    OUT_OF_MEMORY = "out of memory"
    INTERRUPTED = "interrupted"
    STOPPED = "stopped"
    """Early, behind others at a rung: never ranked, and run to its end where a sweep wants that."""

    @property
    def is_final(self) -> bool:
        """Whether running the same spec again could only end the same way."""
        return self in (Status.FINISHED, Status.DIVERGED)


@dataclass(frozen=True)
class TrialResult:
    """What became of one trial. A failure is a result with its reason."""

    spec_id: str
    status: Status
    reason: str = ""
    start_score: float | None = None
    """Dev score before the first step."""
    best_score: float | None = None
    """Best dev score after step 0 (at step 0 for a method that does not train)."""
    best_step: int | None = None
    history: tuple[Measurement, ...] = ()
    seconds: float = 0.0
    device_seconds: float = 0.0
    """Wall seconds times the devices held."""
    checkpoint: str | None = None
    """Folder of the best checkpoint."""
    similarities: tuple[float, ...] = ()
    """Cosine of each dev pair under the best encoder, in their order; empty where not known."""

    @property
    def brief(self) -> Self:
        """Without what grows with the steps and the dev pairs: what is kept of many."""
        return replace(self, history=(), similarities=())

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        history = tuple(Measurement(**item) for item in value["history"])
        similarities = tuple(value.get("similarities", ()))
        status = Status(value["status"])
        parts = {"status": status, "history": history, "similarities": similarities}
        return cls(**{**value, **parts})


@dataclass(frozen=True)
class Sweep:
    """The trials of one command."""

    method: str
    grid: str
    preset: str
    specs: tuple[TrialSpec, ...]
    notes: Mapping[str, Scalar] = field(default_factory=dict)
    """What else a reader should know: points left out, the centre of a fine grid, …"""
    rule: str = ""
    """How its trials are proposed or stopped early; empty where all of them run to their end."""
    axes: tuple[str, ...] = ()
    """What varies, where trials are proposed one by one and ``specs`` are those so far."""
    limit: int | None = None
    """At most so many of them; None where something else ends it."""

    @property
    def most(self) -> int:
        """How many trials it comes to at most, as far as that is known."""
        known = len(self.specs)
        limit = known if self.limit is None else self.limit
        return max(known, limit) if self.axes else min(known, limit)

    @property
    def id(self) -> str:
        """The same command over the same data has the same id, whatever stopped it before."""
        known = [] if self.axes else sorted(spec.id for spec in self.specs)
        return content_id([self.method, self.grid, known, *([self.rule] if self.rule else [])])


@dataclass(frozen=True)
class Spent:
    """What a sweep has cost: trials that failed or were stopped count as any other."""

    trials: int = 0
    seconds: float = 0.0
    """On the clock, while trials ran."""
    device_seconds: float = 0.0
    """Wall seconds of each trial times the devices it held, start-up and loading included."""


class Observer(Protocol):
    """Is told what happens in a sweep, in the driver's process, in order."""

    def sweep_started(self, sweep: Sweep, reused: Mapping[str, TrialResult]) -> None:
        """``reused``: results by spec id that the ledger already held."""

    def trial_started(self, spec: TrialSpec) -> None: ...

    def measured(self, spec: TrialSpec, measurement: Measurement) -> None: ...

    def trial_ended(self, spec: TrialSpec, result: TrialResult) -> None: ...

    def sweep_ended(self, sweep: Sweep, results: Mapping[str, TrialResult]) -> None:
        """``results``: by spec id, reused ones included; a trial never started is missing."""


class Ledger(Protocol):
    """Remembers what was run."""

    def results(self, specs: Sequence[TrialSpec]) -> Mapping[str, TrialResult]:
        """The final results (``Status.is_final``) the store holds, by spec id."""

    def seconds_per_step(self, method: str) -> float | None:
        """Median cost of one optimiser step over the method's finished trials; None without any."""
