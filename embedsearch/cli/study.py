"""What an experiment is to run in a setting: its lines, and what of them is known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from embedsearch.cli.job import known
from embedsearch.cli.options import SettingChoices
from embedsearch.cli.surroundings import Surroundings, on_sentences, surroundings
from embedsearch.errors import UserError
from embedsearch.labels import count
from embedsearch.methods.base import Needs, resolve
from embedsearch.records import Point, Sweep, TrialResult, TrialSpec
from embedsearch.report.comparison import Comparison, Line, names
from embedsearch.setting import Setting
from embedsearch.sweep.experiment import Experiment, Row
from embedsearch.sweep.region import GridPoints
from embedsearch.sweep.search import draw
from embedsearch.tracking.ledger import StoreLedger


@dataclass(frozen=True)
class Study:
    """An experiment's trials, and what the ledger knows of them."""

    experiment: Experiment
    surroundings: Surroundings
    lines: tuple[Line, ...]
    remarks: Mapping[str, list[str]]
    """What was done to the points of rows, with their labels."""
    sweeps: tuple[Sweep, ...]
    """One for each method."""
    reused: Mapping[str, TrialResult]

    @property
    def to_run(self) -> list[TrialSpec]:
        """What the ledger doesn't know."""
        specs = {spec.id: spec for sweep in self.sweeps for spec in sweep.specs}
        return [spec for spec in specs.values() if spec.id not in self.reused]

    @property
    def names(self) -> Mapping[str, str]:
        """What trials are called, by spec id."""
        return names(self.lines)

    def said(self, at_once: int) -> list[str]:
        """What is to run and what is not, in lines."""
        many, done = sum(len(sweep.specs) for sweep in self.sweeps), len(self.reused)
        return [
            f"{self.experiment.name}: {count(len(self.lines), 'row')}, {count(many, 'trial')}, "
            f"{done} known, {many - done} to run, {at_once} at once",
            *(f"{remark}: {', '.join(labels)}" for remark, labels in self.remarks.items()),
        ]

    def compared(self, results: Mapping[str, TrialResult]) -> Comparison:
        """Its table, once its trials have ended."""
        file, setting = self.experiment, self.surroundings.setting
        title = {
            "experiment": file.name,
            "about": file.about,
            "paper": file.paper,
            "table": file.table,
            "figures": dict(file.figures),
            "notes": list(file.notes),
            "preset": setting.preset,
            "backbone": setting.backbone.name,
            "corpus": setting.corpus.name,
            "dev": setting.dev.name,
        }
        return Comparison(title, self.surroundings.said, file.baseline, self.lines, results)


def make_study(
    experiment: Experiment,
    choices: SettingChoices,
    seeds: int | None,
    ledger: StoreLedger,
    gpus: float,
    address: str | None = None,
) -> Study:
    """Lay an experiment out; ``seeds`` in the place of its own number.

    A row that can't run in the setting is a line with its reason. Raises ``UserError`` before
    anything starts, also where no row can run.
    """
    method, needs = _trained(experiment)
    found = surroundings(choices, gpus, address, method, needs)
    layout = _Layout(found, needs, seeds or experiment.seeds, choices.max_trials)
    rows = [(row, layout.points(row)) for row in experiment.rows]
    lines = tuple(line for row, points in rows for line in layout.lines(row, points))
    specs = {spec.id: spec for line in lines for spec in line.specs}
    if not specs:
        raise UserError(f"{experiment.path}: no row can run here: {lines[0].reason}")
    sweeps = tuple(
        Sweep(method, experiment.name, found.preset.name, tuple(of_method))
        for method in dict.fromkeys(line.method for line in lines)
        if (of_method := [spec for spec in specs.values() if spec.point.method == method])
    )
    remarks: dict[str, list[str]] = {}
    for row, points in rows:
        for remark in layout.remarks(row, points):
            remarks.setdefault(remark, []).append(row.label)
    reused = known(list(specs.values()), ledger, found.place)
    return Study(experiment, found, lines, remarks, sweeps, reused)


def _trained(experiment: Experiment) -> tuple[str, Needs]:
    """The method whose own backbone a preset may name, and what the corpus holds: the first that
    trains on pairs of documents, on whose sentences the others train then, or else on sentences."""
    trained = {
        row.space.name: needs
        for row in experiment.rows
        if (needs := resolve(row.space.target).needs) != "nothing"
    }
    first = min(trained, key=lambda name: trained[name] != "pairs", default="")
    return first, trained.get(first, "nothing")


@dataclass(frozen=True)
class _Layout:
    surroundings: Surroundings
    needs: Needs
    """What the corpus is for."""
    seeds: int
    max_trials: int | None

    def settings(self, row: Row) -> Sequence[Setting]:
        """One for each seed."""
        first = self.surroundings.setting
        first = on_sentences(first) if self.is_on_sentences(row) else first
        return [replace(first, seed=first.seed + i) for i in range(self.seeds)]

    def is_on_sentences(self, row: Row) -> bool:
        """Whether a row trains on sentences of documents."""
        return self.needs == "pairs" and resolve(row.space.target).needs == "sentences"

    def points(self, row: Row) -> GridPoints | UserError:
        """A row's points, or why there are none."""
        setting = self.surroundings.setting
        try:
            return row.points(
                self.surroundings.preset, setting.facts.architecture, self.max_trials, draw
            )
        except UserError as error:
            return error

    def lines(self, row: Row, points: GridPoints | UserError) -> Iterator[Line]:
        """A line for each point."""
        if isinstance(points, UserError):
            yield Line(row.label, row.space.name, {}, (), row.printed, str(points))
            return
        settings = self.settings(row)
        for point in points.points:
            specs, reason = _specs(point, settings)
            yield Line(row.label, row.space.name, point.values, specs, row.printed, reason)

    def remarks(self, row: Row, points: GridPoints | UserError) -> Iterator[str]:
        """What the setting did to a row's points."""
        if isinstance(points, UserError):
            return
        if self.is_on_sentences(row):
            yield "on the sentences of the documents"
        if "learning_rate_factor" in points.notes:
            factor = points.notes["learning_rate_factor"]
            yield f"learning rate times {factor:g} (preset {self.surroundings.preset.name})"
        if "family" in points.notes:
            yield f"values for {points.notes['family']}"
        if points.left_out:
            yield f"{points.left_out} of {count(points.total, 'point')} left out by the cap"


def _specs(point: Point, settings: Sequence[Setting]) -> tuple[tuple[TrialSpec, ...], str]:
    """A point's trials, or why it can't run."""
    try:
        return tuple(setting.spec(point) for setting in settings), ""
    except UserError as error:
        return (), str(error)
