"""Trials over a Ray cluster; the only place that imports ray and optuna."""

from embedsearch.sweep.search.cluster import (
    Cluster,
    connected,
    local_resources,
    trials_at_once,
    unstoppable,
)
from embedsearch.sweep.search.draws import draw
from embedsearch.sweep.search.placement import Patience
from embedsearch.sweep.search.trials import RETRIES, run_trials

__all__ = [
    "RETRIES",
    "Cluster",
    "Patience",
    "connected",
    "draw",
    "local_resources",
    "run_trials",
    "trials_at_once",
    "unstoppable",
]
