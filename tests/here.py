"""The sweep command without Ray's seconds: its trials run in this process, all else is the same."""

from __future__ import annotations

from contextlib import nullcontext
from functools import partial
from typing import Any

from embedsearch import trial
from embedsearch.sweep import search


def run_trials(work: Any, place: Any, cluster: Any, observer: Any, **how: Any) -> None:
    """One at a time, each to its end, listed or proposed."""
    meter = how.get("meter")
    proposals = work if isinstance(work, search.Proposals) else None
    for name, spec in _proposed(proposals) if proposals else ((spec.id, spec) for spec in work):
        if meter:
            if meter.is_over:
                return
            meter.begin(spec.id)
        observer.trial_started(spec)
        result = trial.run(spec, place, partial(observer.measured, spec))
        if meter:
            meter.end(spec.id)
            meter.count(spec.id)
        if proposals:
            proposals.ended(name, result)
        observer.trial_ended(spec, result)


def _proposed(proposals: Any) -> Any:
    asked = 0
    while spec := proposals.next(f"{asked}"):
        yield f"{asked}", spec
        asked += 1


REPLACED = {"run_trials": run_trials, "connected": nullcontext}


def without_ray() -> None:
    """For the rest of this process."""
    vars(search).update(REPLACED)
