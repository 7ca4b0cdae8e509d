"""Uniform draws from what hyperparameters may be, by Optuna."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from embedsearch.records import Scalar
from embedsearch.sweep.axis import Axis
from embedsearch.sweep.search.samplers import distribution


def draw(axes: Mapping[str, Axis], seed: int) -> Iterator[Mapping[str, Scalar]]:
    """Endless uniform draws, one value per axis, the same for the same seed (Optuna's sampler)."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=seed))
    distributions = {name: distribution(axis) for name, axis in axes.items()}
    while True:
        yield study.ask(distributions).params
