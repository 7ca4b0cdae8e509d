"""The sweep command without Ray's seconds: its trials run in this process, all else is the same."""

from __future__ import annotations

from contextlib import nullcontext
from functools import partial
from typing import Any

from embedsearch import trial
from embedsearch.sweep import search


def run_trials(specs: Any, place: Any, cluster: Any, observer: Any, **_: Any) -> None:
    for spec in specs:
        observer.trial_started(spec)
        result = trial.run(spec, place, partial(observer.measured, spec))
        observer.trial_ended(spec, result)


REPLACED = {"run_trials": run_trials, "connected": nullcontext}


def without_ray() -> None:
    """For the rest of this process."""
    vars(search).update(REPLACED)
