"""Which hyperparameters a search's good trials have in common, by Optuna."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from random import Random

from embedsearch.labels import differing
from embedsearch.records import Scalar
from embedsearch.sweep.axis import Axis, Choice, Range
from embedsearch.sweep.search.samplers import distribution

FEWEST = 10
"""Trials that can say anything of importance."""
_ENOUGH = 1000
"""Trials that say all there is to say; of more, as many drawn at random."""
_TOP, _TOP_FEWEST = 0.1, 5
"""The share of the trials that counts as good, and the fewest, as PED-ANOVA's authors advise."""


def importance(
    points: Sequence[Mapping[str, Scalar]], scores: Sequence[float], axes: Mapping[str, Axis]
) -> dict[str, float]:
    """The share of each hyperparameter in what sets the best tenth of the trials (but five at
    least) apart from the others, the largest first; they add up to 1.

    PED-ANOVA (Watanabe et al., 2023) within what was tried. It sees each hyperparameter by itself.
    Empty with fewer than ``FEWEST`` trials, or where no axis leaves a choice.
    """
    if len(points) < FEWEST or not axes:
        return {}
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    ranges = {name: distribution(axis) for name, axis in axes.items()}
    study = optuna.create_study(direction="maximize")
    chosen = Random(0).sample(range(len(points)), min(_ENOUGH, len(points)))
    study.add_trials(
        optuna.trial.create_trial(
            params={name: points[place][name] for name in axes},
            distributions=ranges,
            value=scores[place],
        )
        for place in chosen
    )
    good = max(_TOP, _TOP_FEWEST / len(chosen))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        evaluator = optuna.importance.PedAnovaImportanceEvaluator(target_quantile=good)
        return dict(optuna.importance.get_param_importances(study, evaluator=evaluator))


def tried(points: Sequence[Mapping[str, Scalar]]) -> dict[str, Axis]:
    """What points span: the hyperparameters in which they differ; one that not all have is none."""
    names = [name for name in differing(points) if all(name in point for point in points)]
    return {name: _axis([point[name] for point in points]) for name in names}


def _axis(values: Sequence[Scalar]) -> Axis:
    numbers = [v for v in values if isinstance(v, int | float) and not isinstance(v, bool)]
    if len(numbers) < len(values):
        return Choice(tuple(dict.fromkeys(values)))
    low, high = min(numbers), max(numbers)
    integer = all(isinstance(number, int) for number in numbers)
    return Range(low, high, log=low > 0 and high >= 10 * low, integer=integer)
