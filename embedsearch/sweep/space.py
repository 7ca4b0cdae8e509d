"""A method's search space: ``search_spaces/NAME.yaml``, found, checked and laid out as points."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, StringConstraints

from embedsearch.config import unknown, validate
from embedsearch.document import COMMAND_LINE, Where, read_yaml
from embedsearch.errors import UserError
from embedsearch.methods.base import MethodConfig, resolve
from embedsearch.presets import Preset
from embedsearch.records import CONFIRM, Scalar
from embedsearch.sweep.catalogue import space_names
from embedsearch.sweep.grid import Grid, GridFile, parse_conditions, parse_grid
from embedsearch.sweep.layers import Layers, defaults, typed_values
from embedsearch.sweep.region import Draw, GridPoints, Region

GridName = Annotated[str, StringConstraints(pattern=r"^\w[\w-]*$")]


class _SpaceFile(BaseModel):
    model_config = ConfigDict(extra="forbid")

    method: str
    about: str = ""
    fixed: dict[str, Any] = {}
    conditions: list[Any] = []
    grids: dict[GridName, GridFile]


@dataclass(frozen=True)
class Space:
    """A method, what its space fixes, and its grids in the order of the file."""

    name: str
    path: Path
    target: str
    """The method's class, as ``package.module:Class``."""
    config: type[MethodConfig]
    about: str
    fixed: Mapping[str, Scalar]
    grids: Mapping[str, Grid]

    def grid(self, name: str) -> Grid:
        """The grid of that name; ``UserError`` with the nearest one and all of them."""
        if name not in self.grids:
            raise UserError(f"{self.path}: {unknown('grid', name, self.grids)}")
        return self.grids[name]

    def points(
        self,
        grid: str | Grid | None,
        *,
        preset: Preset | None = None,
        overrides: Mapping[str, str] | None = None,
        centre: Mapping[str, Scalar] | None = None,
        family: str = "",
        max_trials: int | None = None,
        seed: int = 0,
        draw: Draw | None = None,
    ) -> GridPoints:
        """The points of a grid, by name or as it is; of None the one that the other layers make.

        ``max_trials`` comes before the preset's own cap. ``seed`` decides which points a cap takes
        and what is drawn from ranges: it is not the trials', whose seeds are compared on the same
        points. The rest is as in ``region`` and ``Region.points``.
        """
        region = self.region(grid, preset=preset, overrides=overrides, centre=centre, family=family)
        if max_trials is None and preset is not None and grid is not None:
            max_trials = preset.cap(self.name, grid if isinstance(grid, str) else "")
        return region.points(max_trials, seed, draw)

    def region(
        self,
        grid: str | Grid | None,
        *,
        preset: Preset | None = None,
        overrides: Mapping[str, str] | None = None,
        centre: Mapping[str, Scalar] | None = None,
        family: str = "",
    ) -> Region:
        """What a grid spans under all layers: class < fixed < preset < grid < command line.

        A preset's factor multiplies the learning rate of class, space and grid. ``centre`` is for
        a grid that lies around another's best point: all values of that point, which then come
        before the preset's. ``family`` is the architecture of the backbone.
        """
        if isinstance(grid, Grid):
            laid = grid
        else:
            laid = Grid(Where(str(self.path))) if grid is None else self.grid(grid)
        layers = Layers(
            own={**defaults(self.config), **self.fixed},
            preset=self._from_preset(preset),
            factor=preset.method(self.name).learning_rate_factor if preset else 1.0,
            centre=self._from_centre(laid, centre),
            grid=laid.axes(family),
            said=typed_values(self.config, overrides or {}, COMMAND_LINE),
        )
        base, axes = layers.settled(self.config, laid.places)
        notes: dict[str, Scalar] = {"family": family} if laid.families else {}
        if layers.is_scaled():
            notes["learning_rate_factor"] = layers.factor
        return Region(
            method=self.name,
            target=self.target,
            config=self.config,
            base=base,
            axes=axes,
            conditions=laid.conditions,
            notes=notes,
            where=laid.where,
            fixed=tuple(name for name in layers.grid if name in layers.said),
        )

    def _from_preset(self, preset: Preset | None) -> dict[str, Scalar]:
        """The preset's values; ``UserError`` where it names a method or grid that isn't there."""
        if preset is None:
            return {}
        where = Where(f"preset {preset.name}", key="methods")
        methods = {*space_names(), self.name}
        for name in preset.methods:
            if name not in methods:
                raise where.error(unknown("method", name, sorted(methods)))
        for name in preset.method(self.name).max_trials:
            if name not in self.grids:
                below = where.below(self.name).below("max_trials")
                raise below.error(unknown("grid", name, self.grids))
        return typed_values(self.config, preset.values_of(self.name), where.below(self.name))

    def _from_centre(self, grid: Grid, centre: Mapping[str, Scalar] | None) -> dict[str, Scalar]:
        if grid.around and centre is None:
            raise grid.where.error(
                f"lies around the best trial of '{grid.around}', run that first: "
                f"python -m embedsearch.sweep {self.name} --grid {grid.around}"
            )
        if centre is not None and not grid.around:
            raise grid.where.error("lies around no trial, so it takes none")
        return typed_values(self.config, centre or {}, Where("centre"))


def load_space(path: str | Path) -> Space:
    """The space in a YAML file, all of it checked; ``UserError`` with file, line and key."""
    path = Path(path)
    table = read_yaml(path)
    file = validate(_SpaceFile, table)
    try:
        config = resolve(file.method).Config
    except UserError as error:
        raise table.places["method"].error(str(error)) from error
    conditions = parse_conditions(config, table.get("conditions"), table.where)
    grids: dict[str, Grid] = {}
    for name, grid in table["grids"].items():
        where = table["grids"].places[name]
        if name == CONFIRM:
            raise where.error(f"{CONFIRM} is what confirming trials are filed under, rename it")
        grids[name] = parse_grid(config, grid, where, conditions)
        if grids[name].around and grids[name].around not in table["grids"]:
            others = unknown("grid", grids[name].around, table["grids"])
            raise grid.places["around"].error(others)
    fixed = typed_values(config, table.get("fixed") or {}, table.where)
    if not grids:
        raise table.places["grids"].error("names no grid: give it one, with its values")
    return Space(
        name=path.stem,
        path=path,
        target=file.method,
        config=config,
        about=file.about,
        fixed=fixed,
        grids=grids,
    )
