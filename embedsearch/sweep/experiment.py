"""One table of a paper, or an ablation: ``experiments/NAME.yaml``, found and checked."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from embedsearch.config import unknown, validate
from embedsearch.document import Table, read_yaml
from embedsearch.errors import UserError
from embedsearch.presets import Preset
from embedsearch.records import CONFIRM
from embedsearch.sweep.catalogue import find_experiment, find_space
from embedsearch.sweep.grid import Grid, parse_grid
from embedsearch.sweep.layers import typed_values
from embedsearch.sweep.region import Draw, GridPoints
from embedsearch.sweep.space import Space, load_space

Words = Annotated[str, Field(min_length=1)]


class _RowFile(BaseModel):
    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    label: Words
    method: str
    grid: str | None = None
    values: dict[str, Any] = {}
    printed: dict[str, float] = {}

    @model_validator(mode="after")
    def _says_it_once(self) -> Self:
        if self.grid is not None and self.values:
            raise ValueError("takes its points from 'grid' or from 'values', give one of the two")
        return self


class _ExperimentFile(BaseModel):
    model_config = ConfigDict(extra="forbid")

    about: Words
    paper: str = ""
    table: str = ""
    baseline: str
    figures: dict[str, Words] = {}
    fixed: dict[str, dict[str, Any]] = {}
    seeds: int = Field(1, ge=1)
    notes: list[Words] = []
    rows: Annotated[list[_RowFile], Field(min_length=1)]


@dataclass(frozen=True)
class Row:
    """One row of the table, or one for each point where its values vary."""

    label: str
    space: Space
    """The method's, with what the experiment fixes."""
    grid: str | Grid
    """One of the space's, or the row's own."""
    printed: Mapping[str, float]
    """What the paper prints for it, by figure."""

    def points(self, preset: Preset, family: str, max_trials: int | None, draw: Draw) -> GridPoints:
        """Its points in a setting; ``UserError`` where there are none in it (see ``Space``)."""
        return self.space.points(
            self.grid, preset=preset, family=family, max_trials=max_trials, draw=draw
        )


@dataclass(frozen=True)
class Experiment:
    """What a file says."""

    path: Path
    about: str
    paper: str
    table: str
    baseline: str
    """The label of the row that the others are compared with."""
    figures: Mapping[str, str]
    """Which protocol each printed figure is of."""
    seeds: int
    notes: tuple[str, ...]
    rows: tuple[Row, ...]

    @property
    def name(self) -> str:
        return self.path.stem


def load_experiment(name: str | Path) -> Experiment:
    """The experiment of a name or in a YAML file, all of it checked; ``UserError`` with file, line
    and key.

    Values lie where a grid's do (class < space's fixed < experiment's fixed < preset < values), and
    a space's conditions do not bind them: an ablation may be what a search leaves out.
    """
    path = find_experiment(name)
    if not re.fullmatch(r"\w[\w-]*", path.stem):
        raise UserError(f"{path}: its sweeps are named by it: use letters, digits, _ and - alone")
    if path.stem == CONFIRM:
        raise UserError(f"{path}: {CONFIRM} is what confirming trials are filed under, rename it")
    table = read_yaml(path)
    file = validate(_ExperimentFile, table)
    spaces = _spaces(table, file)
    rows = tuple(
        _row(written, row, spaces[row.method], file)
        for written, row in zip(table["rows"], file.rows, strict=True)
    )
    labels = [row.label for row in rows]
    for index, label in enumerate(labels):
        if label in labels[:index]:
            place = table["rows"][index].places["label"]
            raise place.error(f"'{label}' is another row's label too, give each its own")
    if file.baseline not in labels:
        raise table.places["baseline"].error(unknown("row", file.baseline, labels))
    parts = file.model_dump(include={"about", "paper", "table", "baseline", "figures", "seeds"})
    return Experiment(path=path, notes=tuple(file.notes), rows=rows, **parts)


def _spaces(table: Table, file: _ExperimentFile) -> dict[str, Space]:
    """The space of every method that a row has, with what is fixed for it."""
    spaces: dict[str, Space] = {}
    for written, row in zip(table["rows"], file.rows, strict=True):
        if row.method not in spaces:
            try:
                found = find_space(row.method)
            except UserError as error:
                raise written.places["method"].error(str(error)) from error
            spaces[row.method] = load_space(found)
    for method, values in (table.get("fixed") or {}).items():
        where = table["fixed"].places[method]
        if method not in spaces:
            raise where.error(unknown("method in the rows", method, spaces))
        space = spaces[method]
        fixed = {**space.fixed, **typed_values(space.config, values, where)}
        spaces[method] = replace(space, fixed=fixed)
    return spaces


def _row(written: Table, row: _RowFile, space: Space, file: _ExperimentFile) -> Row:
    if row.grid is None:
        grid = parse_grid(space.config, written, written.where, ())
    elif row.grid in space.grids:
        grid = space.grids[row.grid]
    else:
        raise written.places["grid"].error(unknown("grid", row.grid, space.grids))
    if grid.around:
        raise written.places["grid"].error("lies around another grid's best trial, and a row can't")
    for name in row.printed:
        if name not in file.figures:
            place = written["printed"].places[name]
            raise place.error(unknown("figure", name, file.figures))
    if (row.printed or row.label == file.baseline) and not grid.is_single:
        kind = "the baseline" if row.label == file.baseline else "a row with printed figures"
        raise written.where.error(f"{kind} is one point: give each hyperparameter one value")
    return Row(row.label, space, row.grid or grid, row.printed)
