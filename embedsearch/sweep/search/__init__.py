"""Trials over a Ray cluster; the only place that imports ray and optuna."""

from embedsearch.sweep.search.cluster import (
    Cluster,
    connected,
    local_resources,
    trials_at_once,
    unstoppable,
)
from embedsearch.sweep.search.draws import draw
from embedsearch.sweep.search.importance import FEWEST, importance, tried
from embedsearch.sweep.search.placement import Patience
from embedsearch.sweep.search.proposals import Proposals
from embedsearch.sweep.search.relay import RETRIES
from embedsearch.sweep.search.stopping import TO_THE_END, Curves, Stopping
from embedsearch.sweep.search.trials import run_trials

__all__ = [
    "FEWEST",
    "RETRIES",
    "TO_THE_END",
    "Cluster",
    "Curves",
    "Patience",
    "Proposals",
    "Stopping",
    "connected",
    "draw",
    "importance",
    "local_resources",
    "run_trials",
    "trials_at_once",
    "tried",
    "unstoppable",
]
