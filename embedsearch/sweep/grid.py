"""A named part of a space, as its file says it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel, ConfigDict

from embedsearch.config import fields
from embedsearch.document import Series, Table, Where
from embedsearch.sweep.axis import Axis, Choice, Near, Range, parse_axis
from embedsearch.sweep.condition import Condition

Axes = Mapping[str, Axis | Near]


class GridFile(BaseModel):
    """The keys of a grid in a space file."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    about: str = ""
    around: str = ""
    values: dict[str, Any] = {}
    families: dict[str, dict[str, Any]] = {}
    conditions: list[Any] = []


@dataclass(frozen=True)
class Grid:
    """What varies in it, and how."""

    where: Where
    about: str = ""
    around: str = ""
    """The grid whose best point is this one's centre; empty where it needs none."""
    values: Axes = field(default_factory=dict)
    families: Mapping[str, Axes] = field(default_factory=dict)
    """More values, by the architecture of the backbone."""
    conditions: tuple[Condition, ...] = ()
    places: Mapping[str, Where] = field(default_factory=dict)
    """Where each of its values is written."""

    @property
    def is_drawn(self) -> bool:
        """Whether it has no end: some of its axes are ranges."""
        return any(isinstance(axis, Range) for axis in self._all_axes())

    @property
    def is_single(self) -> bool:
        """Whether it is one point on any backbone."""
        return all(isinstance(axis, Choice) and len(axis.values) == 1 for axis in self._all_axes())

    def axes(self, family: str) -> dict[str, Axis | Near]:
        """What each hyperparameter may be for a backbone family; ``UserError`` if it has none."""
        if self.families and family not in self.families:
            raise self.where.error(
                f"has values for {' and '.join(self.families)} backbones, none for '{family}'; "
                "take another grid, or add them in a space of your own"
            )
        return {**self.values, **self.families.get(family, {})}

    def _all_axes(self) -> Iterator[Axis | Near]:
        for axes in (self.values, *self.families.values()):
            yield from axes.values()


def parse_grid(
    model: type[BaseModel], table: Table, where: Where, conditions: tuple[Condition, ...]
) -> Grid:
    """The grid in a table whose keys were checked; ``conditions`` are those of the whole space."""
    common = table.get("values") or {}
    families = table.get("families") or {}
    places: dict[str, Where] = {}
    for values in (common, *families.values()):
        places.update(getattr(values, "places", {}))
    grid = Grid(
        where=where,
        about=str(table.get("about") or ""),
        around=str(table.get("around") or ""),
        values=_axes(model, common),
        families={name: _axes(model, values) for name, values in families.items()},
        conditions=conditions + parse_conditions(model, table.get("conditions"), where),
        places=places,
    )
    for key, axis in (
        item for axes in (grid.values, *grid.families.values()) for item in axes.items()
    ):
        if isinstance(axis, Near) and not grid.around:
            raise places[key].error("depends on a centre, and the grid says none by 'around: GRID'")
    return grid


def parse_conditions(
    model: type[BaseModel], written: Series | None, where: Where
) -> tuple[Condition, ...]:
    """Conditions over the fields of ``model``."""
    return tuple(Condition.parse(item, where, fields(model)) for item in written or [])


def _axes(model: type[BaseModel], values: Mapping[str, Any]) -> dict[str, Axis | Near]:
    places = getattr(values, "places", {})
    return {key: parse_axis(model, key, value, places[key]) for key, value in values.items()}
