"""What confirming a search is to run: its leaders again, under seeds that it had not."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from embedsearch.cli.job import known
from embedsearch.cli.options import SettingChoices
from embedsearch.cli.site import Site, device_of, site
from embedsearch.cli.surroundings import surroundings
from embedsearch.data.pairs import read_dev_pairs
from embedsearch.errors import UserError
from embedsearch.labels import count, labels
from embedsearch.methods.base import resolve
from embedsearch.records import CONFIRM, Sweep, TrialResult, TrialSpec
from embedsearch.report.confirmation import Candidate, Confirmation
from embedsearch.setting import check_current
from embedsearch.sweep.catalogue import find_space, first_grid
from embedsearch.tracking.ledger import StoreLedger
from embedsearch.tracking.ranking import Ranking, rank

_FIELDS = {
    "backbone": "backbone",
    "corpus": "corpus",
    "dev": "dev",
    "steps": "total_steps",
    "eval_steps": "eval_steps",
    "device": "device",
    "precision": "precision",
    "cpus_per_trial": "threads",
}
"""What an option of a setting decides of a spec."""


@dataclass(frozen=True)
class Leaders:
    """The leaders' trials under fresh seeds, and what the ledger knows of them."""

    surroundings: Site
    ranking: Ranking
    """Of the search alone, its leaders only."""
    candidates: tuple[Candidate, ...]
    sweep: Sweep
    reused: Mapping[str, TrialResult]

    @property
    def sweeps(self) -> tuple[Sweep, ...]:
        return (self.sweep,)

    @property
    def to_run(self) -> list[TrialSpec]:
        """What the ledger doesn't know."""
        return [spec for spec in self.sweep.specs if spec.id not in self.reused]

    @property
    def names(self) -> Mapping[str, str]:
        """What trials are called, by spec id."""
        return labels(self.sweep.specs)

    def said(self, at_once: int) -> list[str]:
        """What is to run and what is not, in lines."""
        many, done = len(self.sweep.specs), len(self.reused)
        points = count(self.ranking.points, "point")
        seeds = ", ".join(str(seed) for seed in self.candidates[0].seeds)
        return [
            f"{self.sweep.method}: the best {len(self.candidates)} of {points} on "
            f"{self.ranking.group}",
            f"again with seeds {seeds}: {many} trials, {done} known, {many - done} to run, "
            f"{at_once} at once",
        ]

    def concluded(self, results: Mapping[str, TrialResult], ledger: StoreLedger) -> Confirmation:
        """How sure the leaders are, once their trials have ended."""
        known_of = ledger.similarities(self.sweep.method, [spec.id for spec in self.sweep.specs])
        dev = self.sweep.specs[0].dev
        gold = read_dev_pairs(dev.location).gold
        return Confirmation(
            self.sweep.method, str(self.ranking.group), self.surroundings.said,
            self.ranking.points, self.candidates, results, known_of, gold,
        )  # fmt: skip


def find_leaders(
    method: str,
    top: int,
    seeds: int,
    choices: SettingChoices,
    ledger: StoreLedger,
    gpus: float,
    address: str | None = None,
) -> Leaders:
    """Lay out what is to run: in the setting that the leaders were found in, but for ``choices``.

    Raises ``UserError`` before anything starts: without a search, without one of a method that
    trains, and where what they were found with has changed or is not there.
    """
    trials = ledger.trials(method)
    searched = [found for found in trials if not found.confirms]
    ranking = rank(searched).top(top)
    if not ranking.entries:
        grid = first_grid(find_space(method))
        raise UserError(
            f"no {method} trial has a score to confirm; run `python -m embedsearch.sweep {method} "
            f"--grid {grid}` first"
        )
    used = {found.seed for found in searched}
    fresh = list(itertools.islice((seed for seed in itertools.count() if seed not in used), seeds))
    stored = [ledger.spec(entry.leader.run_id) for entry in ranking.entries]
    changes = _changes(stored[0], choices, gpus, address)
    again = [replace(spec, **changes) for spec in stored]
    for spec in again:
        _check(spec)
    candidates = tuple(
        Candidate(
            entry.leader.shown,
            max(entry.scores),
            tuple(replace(spec, seed=seed) for seed in fresh),
        )
        for entry, spec in zip(ranking.entries, again, strict=True)
    )
    where = _site(again[0], fresh, choices, gpus, address)
    specs = tuple(spec for candidate in candidates for spec in candidate.specs)
    sweep = Sweep(method, CONFIRM, again[0].preset, specs, {"of": ranking.points})
    return Leaders(where, ranking, candidates, sweep, known(specs, ledger, where.place))


def _changes(
    stored: TrialSpec, choices: SettingChoices, gpus: float, address: str | None
) -> dict[str, Any]:
    """The fields of a spec that ``choices`` decide in the place of the stored ones."""
    said = {name for name in _FIELDS if choices.preset or getattr(choices, name) is not None}
    if not said:
        return {}
    if "device" in said:
        said.add("precision")
    point = stored.point
    given = choices
    if not choices.preset:  # of which nothing is taken then
        backbone = choices.backbone or stored.backbone.location
        dev = choices.dev or stored.dev.location
        given = replace(choices, preset="demo", backbone=backbone, dev=dev)
    needs = resolve(point.target).needs if "corpus" in said else "nothing"
    setting = surroundings(given, gpus, address, point.method, needs).setting
    resolve(point.target).check(resolve(point.target).Config(**point.values), setting.facts)
    fields = {_FIELDS[name]: getattr(setting, _FIELDS[name]) for name in said - {"steps"}}
    if "steps" in said:
        fields["total_steps"] = choices.steps or setting.spec(point).total_steps
    return {**fields, **({"preset": setting.preset} if choices.preset else {})}


def _check(spec: TrialSpec) -> None:
    check_current(spec)
    if not spec.total_steps:
        raise UserError(
            f"{spec.point.method} does not train, so that every seed gives the same score: there "
            "is nothing to confirm"
        )
    for name in ("backbone", "corpus", "dev"):
        location = getattr(spec, name).location
        if Path(location).is_absolute() and not Path(location).exists():
            raise UserError(
                f"the {name} that the leaders were found with is not at {location} any more: say "
                f"where it is with --{name}"
            )


def _site(
    spec: TrialSpec, seeds: Sequence[int], choices: SettingChoices, gpus: float, address: str | None
) -> Site:
    device = device_of(spec.device, gpus)
    cluster, place = site(choices.storage, address, device, spec.threads, choices.gpus_per_trial)
    parts = [
        f"as found: preset {spec.preset}",
        f"backbone {spec.backbone.name}",
        f"corpus {spec.corpus.name}",
        f"dev {spec.dev.name}",
        f"{device} {spec.precision}, {spec.threads} CPU"
        + (f" and {cluster.gpus_per_trial:g} GPU" if cluster.gpus_per_trial else "")
        + " a trial",
        f"{count(spec.total_steps, 'step')}, dev score every {spec.eval_steps}",
        f"{len(seeds)} seeds",
    ]
    return Site(cluster, place, " · ".join(parts))
