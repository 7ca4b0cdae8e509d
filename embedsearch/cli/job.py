"""What a command is to run: the sweep, what of it is known, and what is left."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from embedsearch import trial
from embedsearch.cli.change import Change
from embedsearch.cli.options import Choices
from embedsearch.cli.surroundings import Surroundings, surroundings
from embedsearch.config import parse_overrides
from embedsearch.errors import UserError
from embedsearch.labels import assigned, count, labels, varied
from embedsearch.methods.base import resolve
from embedsearch.place import Place
from embedsearch.records import Scalar, Status, Sweep, TrialResult, TrialSpec, content_id
from embedsearch.sweep.catalogue import find_space
from embedsearch.sweep.region import GridPoints
from embedsearch.sweep.search import draw
from embedsearch.sweep.space import Space, load_space
from embedsearch.tracking.ledger import StoreLedger

EVERY_POINT = 1_000_000
DRAWN_POINTS = 500
"""How far back the best of a grid of ranges is looked for, in the order of its draws."""


@dataclass(frozen=True)
class Job:
    """A command's trials, in order, and what the ledger knows of them."""

    space: Space
    surroundings: Surroundings
    points: GridPoints
    sweep: Sweep
    reused: Mapping[str, TrialResult]
    refused: Sequence[str] = ()
    """Why points can't run on the backbone, for each of them."""
    change: Change | None = None
    """Since earlier sweeps of the grid; None for a single trial."""

    @property
    def sweeps(self) -> tuple[Sweep, ...]:
        return (self.sweep,)

    @property
    def names(self) -> Mapping[str, str]:
        """What trials are called, by spec id."""
        return labels(self.sweep.specs)

    @property
    def missing(self) -> list[TrialSpec]:
        """The specs that have no final result yet."""
        return [spec for spec in self.sweep.specs if spec.id not in self.reused]

    def said(self, at_once: int) -> list[str]:
        """What is to run and what is not, in lines."""
        points, known = self.points, len(self.reused)
        trials = f"{self.sweep.method} {self.sweep.grid}: {count(len(self.sweep.specs), 'trial')}"
        if points.left_out:
            trials += f" of {points.total} ({points.left_out} left out by the cap)"
        dropped = f", {points.duplicates} duplicates dropped" if points.duplicates else ""
        excluded = f", {points.excluded} excluded by conditions" if points.excluded else ""
        lines = [f"{trials}{dropped}{excluded}, {known} known, {len(self.missing)} to run, "
                 f"{at_once} at once"]  # fmt: skip
        lines += [f"{n} can't run here: {reason}" for reason, n in Counter(self.refused).items()]
        lines += self.change.said() if self.change else []
        if "around" in self.sweep.notes:
            centre = json.loads(str(self.sweep.notes["centre"]))
            where = assigned(centre, varied(self.sweep.specs))
            lines.append(f"around {self.sweep.notes['around']}: {where}")
        if "learning_rate_factor" in points.notes:
            factor = points.notes["learning_rate_factor"]
            lines.append(f"learning rate times {factor:g} (preset {self.sweep.preset})")
        if "family" in points.notes:
            lines.append(f"values for {points.notes['family']}")
        return lines


def make_job(choices: Choices, ledger: StoreLedger, gpus: float, address: str | None = None) -> Job:
    """Lay out what ``choices`` ask for. Raises ``UserError`` before anything starts."""
    space = load_space(find_space(choices.method))
    if choices.grid is not None:
        space.grid(choices.grid)  # a misspelt one before anything is read or made
    needs = resolve(space.target).needs
    layout = _Layout(
        choices, space, surroundings(choices, gpus, address, space.name, needs), ledger
    )
    points, notes = layout.points()
    specs, refused = layout.sorted_out(points)
    reused = known(specs, ledger, layout.surroundings.place)
    sweep = Sweep(
        method=space.name,
        grid=layout.grid or "single",
        preset=layout.surroundings.preset.name,
        specs=specs,
        notes=notes,
    )
    return Job(space, layout.surroundings, points, sweep, reused, refused, layout.change(specs))


def known(
    specs: Sequence[TrialSpec], ledger: StoreLedger, place: Place
) -> Mapping[str, TrialResult]:
    """The final results that the store has, by spec id.

    What it lost is forgotten in ``place`` too, where the checkpoint is not there any more.
    """
    stale = [spec.id for spec in specs if trial.has_lost_checkpoint(place, spec.id)]
    reused = ledger.results(specs)
    for spec_id in stale:
        if spec_id not in reused:
            trial.forget(place, spec_id)
    return reused


@dataclass(frozen=True)
class _Layout:
    choices: Choices
    space: Space
    surroundings: Surroundings
    ledger: StoreLedger

    @property
    def grid(self) -> str | None:
        """The grid that was asked for, else the space's first; None for a single trial."""
        if self.choices.single:
            return None
        grid = self.choices.grid
        return next(iter(self.space.grids)) if grid is None else grid

    def points(self) -> tuple[GridPoints, dict[str, Scalar]]:
        """The points to run, and what a reader of the sweep should know of them."""
        grid = self.grid
        centre, where = self._centre() if grid and self.space.grid(grid).around else (None, "")
        points = self._points(grid, centre, self.choices.max_trials)
        notes = {
            "left_out": points.left_out,
            "duplicates": points.duplicates,
            "excluded": points.excluded,
            **points.notes,
        }
        if centre is not None:
            notes |= {"centre": json.dumps(dict(centre)), "around": where}
        if self.choices.select is not None:
            notes["selected_on_test"] = self.choices.select
        return points, {**notes, "setting": self._setting_id()}

    def specs(self, points: GridPoints) -> tuple[TrialSpec, ...]:
        """The trials of those points that can run on the backbone."""
        return self.sorted_out(points)[0]

    def sorted_out(self, points: GridPoints) -> tuple[tuple[TrialSpec, ...], list[str]]:
        """Those trials, and why the other points can't run; ``UserError`` where none can."""
        specs: list[TrialSpec] = []
        refused: list[UserError] = []
        for point in points.points:
            try:
                specs.append(self.surroundings.setting.spec(point))
            except UserError as error:
                refused.append(error)
        if refused and not specs:
            raise refused[0]
        return tuple(specs), list(map(str, refused))

    def change(self, specs: Sequence[TrialSpec]) -> Change | None:
        """What is new in the grid, and what has left it, since it was swept in this setting."""
        if self.grid is None:
            return None
        earlier = self.ledger.earlier(self.space.name, self.grid, self._setting_id())
        now = {spec.id for spec in specs}
        if earlier <= now:
            return Change.since(earlier, now, now)
        grid = self.space.grid(self.grid)
        many = len(earlier | now) if grid.is_drawn else EVERY_POINT
        centre = self._centre()[0] if grid.around else None
        whole = self.specs(self._points(self.grid, centre, many))
        return Change.since(earlier, now, {spec.id for spec in whole})

    def _points(
        self, grid: str | None, centre: Mapping[str, Scalar] | None, max_trials: int | None
    ) -> GridPoints:
        overrides = parse_overrides(self.choices.overrides or [])
        if self.choices.pooling is not None:
            if "pooling" in overrides:
                raise UserError("--pooling and pooling=… say the same: give one of them")
            overrides["pooling"] = self.choices.pooling
        return self.space.points(
            grid,
            preset=self.surroundings.preset,
            overrides=overrides,
            centre=centre,
            family=self.surroundings.setting.facts.architecture,
            max_trials=max_trials,
            draw=draw,
        )

    def _centre(self) -> tuple[Mapping[str, Scalar] | None, str]:
        """The point a fine grid lies around, and what to say of it."""
        if self.choices.around is not None:
            return self.ledger.point(self.choices.around).values, f"run {self.choices.around}"
        for notes in self.ledger.unfinished(self.space.name, str(self.grid)):
            if notes.get("setting") == self._setting_id():
                return json.loads(str(notes["centre"])), str(notes["around"])
        return self._best_of(self.space.grid(str(self.grid)).around)

    def _best_of(self, grid: str) -> tuple[Mapping[str, Scalar] | None, str]:
        many = DRAWN_POINTS if self.space.grid(grid).is_drawn else EVERY_POINT
        specs = self.specs(self._points(grid, None, many))
        results = self.ledger.results(specs)
        best = best_of(specs, results)
        if best is None:
            return None, ""
        spec, result = best
        return spec.point.values, f"the best of {grid}, {result.best_score:.2f}"

    def _setting_id(self) -> str:
        """Names what two commands must share for one to go on with the other's centre."""
        setting = self.surroundings.setting
        sources = [s.fingerprint for s in (setting.backbone, setting.corpus, setting.dev)]
        how = [setting.steps, setting.epochs, setting.eval_steps, setting.seed, setting.device]
        how += [setting.chunk_size, setting.ranks] if setting.divides else []
        return content_id([*sources, *how, setting.precision, sorted(self.choices.overrides or [])])


def best_of(
    specs: Sequence[TrialSpec], results: Mapping[str, TrialResult]
) -> tuple[TrialSpec, TrialResult] | None:
    """The finished trial with the highest dev score, the first of equals; None without any."""
    scored = [
        (spec, results[spec.id])
        for spec in specs
        if spec.id in results and results[spec.id].status is Status.FINISHED
    ]
    scored = [pair for pair in scored if pair[1].best_score is not None]
    return max(scored, key=lambda pair: pair[1].best_score or 0.0, default=None)
