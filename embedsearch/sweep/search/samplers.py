"""Optuna's samplers by name, and hyperparameters as what they sample from."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from embedsearch.config import unknown
from embedsearch.errors import UserError
from embedsearch.records import Scalar
from embedsearch.sweep.axis import Axis, Choice, Range

_OURS = {"random", "bruteforce"}
"""A sweep's own ``random`` and ``grid``, whose points are known beforehand."""
_LATE = {"cmaes": "cmaes"}
"""Packages, of the extra ``search``, that a sampler asks for only once it has something to learn
from."""
_WARNING = "warn_independent_sampling"
"""A warning on the terminal, for axes that a sampler leaves to another one."""


def names() -> list[str]:
    """What ``sampler`` takes: ``tpe``, ``gp``, ``cmaes``, …, as Optuna has them."""
    return sorted(_found())


def sampler(name: str, seed: int) -> Any:
    """Optuna's sampler of that name, seeded.

    Raises ``UserError`` for an unknown one, and where a package is missing that it needs.
    """
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    found = _found()
    if name not in found:
        raise UserError(f"--search: {unknown('search', name, ['grid', 'random', *names()])}")
    accepted = inspect.signature(found[name]).parameters
    quiet = {key: False for key in (_WARNING,) if key in accepted and accepted[key].default}
    try:
        if name in _LATE:
            import_module(_LATE[name])
        with warnings.catch_warnings():  # that one is experimental, say: the user asked for it
            warnings.simplefilter("ignore")
            return found[name](seed=seed, **quiet)
    except ImportError as error:
        reason = str(error).strip().splitlines()[0]
        way = "; get it with `pip install 'embedsearch[search]'`" if name in _LATE else ""
        raise UserError(f"--search {name} needs another package: {reason}{way}") from error


def _found() -> dict[str, Any]:
    """Those that are made of a seed and need to be told nothing else."""
    from optuna import samplers

    ending = "Sampler"
    found = {}
    for name in dir(samplers):
        kind = getattr(samplers, name)
        if not name.endswith(ending) or inspect.isabstract(kind):
            continue
        parameters = inspect.signature(kind).parameters
        needed = [p for p in parameters.values() if p.default is p.empty]
        if "seed" in parameters and not needed:
            found[name.removesuffix(ending).lower()] = kind
    return {name: kind for name, kind in found.items() if name not in _OURS}


@dataclass(frozen=True)
class Dimension:
    """A hyperparameter as a sampler sees it.

    Listed numbers are sampled by their rank, so that a sampler knows which are neighbours.
    """

    axis: Axis

    @property
    def ranks(self) -> tuple[Scalar, ...]:
        """The different listed numbers, ascending; empty where it is no list of numbers."""
        values = self.axis.values if isinstance(self.axis, Choice) else ()
        numbers = all(isinstance(v, int | float) and not isinstance(v, bool) for v in values)
        return tuple(sorted(set(values))) if numbers else ()  # type: ignore[type-var]

    @property
    def distribution(self) -> Any:
        """Optuna's."""
        from optuna import distributions

        if self.ranks:
            return distributions.IntDistribution(0, len(self.ranks) - 1)
        return distribution(self.axis)

    def value(self, sampled: Any) -> Scalar:
        """The hyperparameter's value for what was sampled."""
        return self.ranks[sampled] if self.ranks else sampled  # type: ignore[no-any-return]

    @property
    def first(self) -> Scalar:
        """One of its values."""
        return self.axis.low if isinstance(self.axis, Range) else self.axis.values[0]

    def sampled(self, value: Scalar) -> Any:
        """The other way round; the value must lie in the axis."""
        return self.ranks.index(value) if self.ranks else value


def dimensions(axes: Mapping[str, Axis]) -> dict[str, Dimension]:
    return {name: Dimension(axis) for name, axis in axes.items()}


def distribution(axis: Axis) -> Any:
    """Optuna's, of values without an order or of a range."""
    from optuna import distributions

    if isinstance(axis, Choice):
        return distributions.CategoricalDistribution(tuple(dict.fromkeys(axis.values)))
    if axis.integer:
        return distributions.IntDistribution(int(axis.low), int(axis.high), log=axis.log)
    return distributions.FloatDistribution(axis.low, axis.high, log=axis.log)
