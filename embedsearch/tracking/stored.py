"""A run as the store has it, and what to look for among runs."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

PREFIX = "embedsearch."
"""Of every tag that is this project's own."""
SPEC_ID = f"{PREFIX}spec_id"


@dataclass(frozen=True)
class StoredRun:
    """One run: a sweep's or a trial's."""

    run_id: str
    name: str
    method: str
    """The name of its experiment."""
    status: str
    """MLflow's: RUNNING, FINISHED, FAILED or KILLED."""
    started_ms: int
    ended_ms: int | None
    """Milliseconds since 1970; None while it runs."""
    artifact_uri: str
    tags: Mapping[str, str] = field(default_factory=dict)
    params: Mapping[str, str] = field(default_factory=dict)
    metrics: Mapping[str, float] = field(default_factory=dict)
    """The last value of each; NaN is left out."""

    @classmethod
    def of(cls, run: Any, method: str) -> Self:
        """An MLflow ``Run`` as such a record."""
        info, data = run.info, run.data
        return cls(
            info.run_id,
            info.run_name,
            method,
            info.status,
            info.start_time,
            info.end_time,
            info.artifact_uri,
            data.tags,
            data.params,
            {name: value for name, value in data.metrics.items() if not math.isnan(value)},
        )


@dataclass(frozen=True)
class Query:
    """Which runs: those that meet everything that is given."""

    method: str | None = None
    status: str | None = None
    run_id: str = ""
    """How the id begins, in hex digits."""
    tags: Mapping[str, str] = field(default_factory=dict)
    """The project's own, by their names after the prefix."""
    spec_ids: Collection[str] = ()
    """Trials of one of these; of any, where none is given."""
    limit: int | None = None
    """The latest so many of them."""

    def condition(self) -> str:
        """As an MLflow search condition, which knows no method and no lists of ids."""
        parts = [f"tags.`{PREFIX}{name}` = '{value}'" for name, value in self.tags.items()]
        if self.status:
            parts.append(f"attributes.status = '{self.status}'")
        if self.run_id:
            parts.append(f"attributes.run_id LIKE '{self.run_id}%'")
        return " and ".join(parts)
