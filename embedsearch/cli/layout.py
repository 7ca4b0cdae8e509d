"""From what a command line says to its job."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from embedsearch.cli.change import HOW, SPAN, Change, Departure, span
from embedsearch.cli.job import Job, best_of, counted, known
from embedsearch.cli.options import Choices
from embedsearch.cli.pursuit import LISTED, PUBLISHED, listed, proposed, rule
from embedsearch.cli.surroundings import Surroundings, surroundings
from embedsearch.config import parse_overrides
from embedsearch.errors import UserError
from embedsearch.labels import count
from embedsearch.methods.base import resolve
from embedsearch.records import Scalar, Sweep, TrialSpec, content_id
from embedsearch.sweep.budget import Budget
from embedsearch.sweep.catalogue import find_space
from embedsearch.sweep.region import GridPoints, Region
from embedsearch.sweep.search import draw
from embedsearch.sweep.space import Space, load_space
from embedsearch.tracking.ledger import StoreLedger

THEN = "-then-"
EVERY_POINT = 1_000_000
DRAWN_POINTS = 500
"""How far back the best of a grid of ranges is looked for, in the order of its draws."""


def make_job(choices: Choices, ledger: StoreLedger, gpus: float, address: str | None = None) -> Job:
    """Lay out what ``choices`` ask for. Raises ``UserError`` before anything starts."""
    space = load_space(find_space(choices.method))
    if choices.grid is not None:
        space.grid(choices.grid)  # a misspelt one before anything is read or made
    needs = resolve(space.target).needs
    if choices.search in LISTED and choices.cold:
        raise UserError(f"--cold is for a searcher that learns; --search {choices.search} does not")
    if choices.search == "grid" and choices.search_seed:
        raise UserError("--search-seed is of what is drawn or proposed; --search grid does neither")
    layout = _Layout(
        choices, space, surroundings(choices, gpus, address, space.name, needs), ledger
    )
    return layout.proposed() if choices.search not in LISTED else layout.listed()


def stages(choices: Choices) -> list[str | None]:
    """The grids of a command in their turn: ``coarse-then-fine`` is two, each other one."""
    grid = choices.grid
    if grid is None or THEN not in grid:
        return [grid]
    space = load_space(find_space(choices.method))
    if grid in space.grids:
        return [grid]
    first, then = grid.split(THEN, 1)
    space.grid(first)
    if space.grid(then).around != first:
        raise UserError(f"--grid {grid}: {then} does not lie around the best of {first}")
    for option in ("around", "budget"):
        if getattr(choices, option) is not None:
            raise UserError(f"--grid {grid} takes no --{option}: give its grids one after another")
    return [first, then]


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

    def listed(self) -> Job:
        """A job whose trials are known beforehand."""
        centre, notes = self._about()
        points = self._points(self.grid, centre, self._cap())
        notes |= {
            "left_out": points.left_out,
            "duplicates": points.duplicates,
            "excluded": points.excluded,
            **points.notes,
        }
        specs, refused = self.sorted_out(points)
        sweep = self._sweep(specs, notes, rule(self.choices, None, ""))
        reused = dict(known(specs, self.ledger, self.surroundings.place))
        if sweep.rule:
            reused |= self.ledger.stopped(specs, sweep)
        pursuit = listed(
            sweep, self.choices, specs, reused, self.ledger, self._budget(),
            self.surroundings.place.devices,
        )  # fmt: skip
        if pursuit.left is not None:
            sweep = replace(sweep, limit=len(reused) + pursuit.left)
        return Job(
            self.space, self.surroundings, points.notes, counted(points, len(specs)), sweep,
            reused, pursuit, refused, self.change(specs),
        )  # fmt: skip

    def proposed(self) -> Job:
        """A job whose trials a sampler proposes."""
        centre, notes = self._about()
        region = self._region(self.grid, centre)
        budget = self._budget()
        limit = self._cap(budget.trials if budget else None)
        named = rule(self.choices, region, self._setting_id())
        notes |= {**region.notes, SPAN: json.dumps(span(self.surroundings.setting, region))}
        sweep = self._sweep((), notes, named)
        sweep = replace(sweep, axes=tuple(region.axes), limit=limit)
        pursuit, reused = proposed(
            sweep, self.choices, region, self.surroundings.setting.spec, self._published(),
            self.ledger, budget, self.surroundings.place.devices,
        )  # fmt: skip
        assert pursuit.proposals is not None
        sweep = replace(sweep, specs=tuple(pursuit.proposals.specs.values()))
        many = count(len(sweep.specs), "trial") + (f" of at most {limit}" if limit else "")
        return Job(
            self.space, self.surroundings, region.notes, many, sweep, reused, pursuit,
            change=Departure.of(sweep, self.ledger.sweeps),
        )  # fmt: skip

    def _about(self) -> tuple[Mapping[str, Scalar] | None, dict[str, Scalar]]:
        """The centre of the grid, and what a reader of the sweep should know."""
        grid = self.grid
        centre, where = self._centre() if grid and self.space.grid(grid).around else (None, "")
        notes: dict[str, Scalar] = {"setting": self._setting_id()}
        if centre is not None:
            notes |= {"centre": json.dumps(dict(centre)), "around": where}
        if self.choices.select is not None:
            notes["selected_on_test"] = self.choices.select
        return centre, notes

    def _sweep(self, specs: tuple[TrialSpec, ...], notes: Mapping[str, Scalar], how: str) -> Sweep:
        said: dict[str, Scalar] = {key: getattr(self.choices, key) for key in HOW}
        named = {key: value for key, value in said.items() if value not in ("grid", "none", 0)}
        grid, preset = self.grid or "single", self.surroundings.preset.name
        return Sweep(self.space.name, grid, preset, specs, {**notes, **named}, how)

    def _budget(self) -> Budget | None:
        written = self.choices.budget
        return (written and Budget.parse(written, self.surroundings.setting.device)) or None

    def _cap(self, trials: int | None = None) -> int | None:
        """The most points: what the command says, or the preset where no budget does."""
        if self.choices.max_trials is not None or self.choices.budget is not None:
            return self.choices.max_trials or trials
        return self.surroundings.preset.cap(self.space.name, self.grid) if self.grid else None

    def _published(self) -> list[Mapping[str, Scalar]]:
        """The values that a searcher tries first: none where the space has no such grid for the
        backbone."""
        if PUBLISHED not in self.space.grids:
            return []
        try:
            found = self._points(PUBLISHED, None, EVERY_POINT)
        except UserError:
            return []
        return [point.values for point in found.points]

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
        earlier = self.ledger.sweeps.earlier(self.space.name, self.grid, self._setting_id())
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
        shuffled = self.choices.search == "random"
        seed = self.choices.search_seed if shuffled else 0
        region = self._region(grid, centre)
        if max_trials is None and self.choices.budget and not region.is_finite:
            max_trials = DRAWN_POINTS
        return region.points(max_trials, seed, draw, shuffled=shuffled)

    def _region(self, grid: str | None, centre: Mapping[str, Scalar] | None) -> Region:
        overrides = parse_overrides(self.choices.overrides or [])
        if self.choices.pooling is not None:
            if "pooling" in overrides:
                raise UserError("--pooling and pooling=… say the same: give one of them")
            overrides["pooling"] = self.choices.pooling
        return self.space.region(
            grid,
            preset=self.surroundings.preset,
            overrides=overrides,
            centre=centre,
            family=self.surroundings.setting.facts.architecture,
        )

    def _centre(self) -> tuple[Mapping[str, Scalar] | None, str]:
        """The point a fine grid lies around, and what to say of it."""
        if self.choices.around is not None:
            return self.ledger.point(self.choices.around).values, f"run {self.choices.around}"
        for notes in self.ledger.sweeps.unfinished(self.space.name, str(self.grid)):
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
