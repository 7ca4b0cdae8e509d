"""Who says what a hyperparameter is: class < space's fixed < preset < grid < command line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from pydantic import BaseModel
from pydantic_core import PydanticUndefined

from embedsearch.config import fields, typed
from embedsearch.document import Where
from embedsearch.records import Scalar
from embedsearch.sweep.axis import Axis, Choice, Near, around
from embedsearch.sweep.grid import Axes

RATE = "learning_rate"

Values = Mapping[str, Scalar]


@dataclass(frozen=True)
class Layers:
    """What each of them says of one method, typed."""

    own: Values
    """The class's defaults under the space's fixed values."""
    preset: Values
    factor: float
    """The preset's, for the learning rate that class, space or grid say."""
    centre: Values
    """A whole point, whose values count as the preset's do; empty without one."""
    grid: Axes
    said: Values
    """On the command line."""

    def settled(
        self, model: type[BaseModel], places: Mapping[str, Where]
    ) -> tuple[Values, Mapping[str, Axis]]:
        """The values below the grid and those said over it, and what varies.

        ``places`` are those of the axes that lie round a centre.
        """
        own = {**self.own, **_scaled(self.own, self.factor)}
        base = {**own, **self.preset, **self.centre}
        axes = {
            key: around(model, key, axis, base[key], places[key])
            if isinstance(axis, Near)
            else _scaled_axis(key, axis, self.factor)
            for key, axis in self.grid.items()
            if key not in self.said
        }
        return {**base, **self.said}, axes

    def is_scaled(self) -> bool:
        """Whether the factor changes the learning rate."""
        if self.factor == 1 or RATE in self.said:
            return False
        if RATE in self.grid:
            return not isinstance(self.grid[RATE], Near)
        return RATE not in self.preset and RATE not in self.centre


def defaults(model: type[BaseModel]) -> dict[str, Scalar]:
    """What the class says."""
    said = {
        key: field.get_default(call_default_factory=True) for key, field in fields(model).items()
    }
    return {key: value for key, value in said.items() if value is not PydanticUndefined}


def typed_values(
    model: type[BaseModel], written: Mapping[str, Any], otherwise: Where
) -> dict[str, Scalar]:
    """Values by hyperparameter, typed; ``otherwise`` is the place of those that know none."""
    return {
        key: typed(model, key, value, getattr(value, "where", otherwise.below(key)))
        for key, value in written.items()
    }


def _scaled(values: Values, factor: float) -> Values:
    return {RATE: _times(values[RATE], factor)} if RATE in values else {}


def _scaled_axis(key: str, axis: Axis, factor: float) -> Axis:
    if key != RATE:
        return axis
    if isinstance(axis, Choice):
        return Choice(tuple(_times(value, factor) for value in axis.values))
    return replace(axis, low=_times(axis.low, factor), high=_times(axis.high, factor))


def _times(value: Any, factor: float) -> float:
    """To 12 digits: what a point is called must not hang on the last bit of a product."""
    return float(f"{value * factor:.12g}")
