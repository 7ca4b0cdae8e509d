"""How a sweep goes after its best trial: who proposes, what is stopped early, what it may cost."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from embedsearch.cli.options import Choices
from embedsearch.errors import UserError
from embedsearch.labels import count
from embedsearch.records import Point, Scalar, Status, Sweep, TrialResult, TrialSpec
from embedsearch.sweep.budget import Budget, Meter
from embedsearch.sweep.region import Region
from embedsearch.sweep.search import TO_THE_END, Curves, Proposals, Stopping
from embedsearch.tracking.ledger import StoreLedger

LISTED = ("grid", "random")
"""Searches whose trials are known beforehand."""
PUBLISHED = "published"
"""The grid whose points a searcher tries first."""

SpecOf = Callable[[Point], TrialSpec]


@dataclass(frozen=True)
class Pursuit:
    """Of one sweep: with what it already knows, and what it has cost before."""

    meter: Meter
    stopping: Stopping = TO_THE_END
    budget: Budget | None = None
    proposals: Proposals | None = None
    """None where the trials are listed."""
    curves: Curves = field(default_factory=dict)
    """Of trials that the same sweep has stopped or finished."""
    learnt: int = 0
    """How many earlier trials the searcher knows."""
    first: int = 0
    """How many published points it tries first."""

    def to_run(self, missing: Sequence[TrialSpec]) -> Sequence[TrialSpec] | Proposals:
        """What is left to run of a budget of trials, or who proposes it; empty for nothing."""
        if self.meter.is_over or (self.proposals and self.proposals.is_at_its_end):
            return ()
        if self.proposals:
            return self.proposals
        return missing[: self.left]

    @property
    def left(self) -> int | None:
        """How many trials the budget leaves; None where it is not of trials."""
        if self.budget is None or self.budget.trials is None:
            return None
        return max(0, self.budget.trials - self.meter.spent.trials)

    def said(self, search: str) -> list[str]:
        """In lines, what is not plainly 'all of them to their end'."""
        lines = []
        if self.proposals:
            limit = self.proposals.limit
            most = f"at most {count(limit, 'trial')}" if limit else "until its budget is spent"
            known = f"{count(self.learnt, 'earlier trial')} known to it"
            first = f", {count(self.first, 'published point')} first" if self.first else ""
            lines.append(f"search {search}: {most}, {known}{first}")
        if self.stopping.is_early:
            lines.append(f"stop {self.stopping}")
        if self.budget:
            lines.append(f"budget: {self.budget.left(self.meter.spent)} left")
        return lines

    @property
    def ended(self) -> str:
        """Why it is at its end though trials may be left; empty where it isn't."""
        if self.budget and (self.meter.is_over or self.left == 0):
            return f"the budget of {self.budget.written} is spent"
        return ""


def rule(choices: Choices, region: Region | None, setting: str) -> str:
    """Names how a sweep's trials are proposed and stopped, as a part of its identity."""
    stop = "" if choices.stop == "none" else f"stop {choices.stop}"
    if region is None:
        return stop
    axes = {name: repr(axis) for name, axis in region.axes.items()}
    conditions = [condition.text for condition in region.conditions]
    where = [setting, dict(region.base), axes, conditions]
    return f"{choices.search} seed {choices.search_seed} {stop} {where}"


def listed(
    sweep: Sweep,
    choices: Choices,
    specs: Sequence[TrialSpec],
    done: Mapping[str, TrialResult],
    ledger: StoreLedger,
    budget: Budget | None,
    devices: float,
) -> Pursuit:
    """Of trials that are known beforehand; ``done``: their results so far."""
    stopping = _stopping(choices, specs)
    before = ledger.sweeps.members(sweep)[1]
    curves = ledger.curves(sweep.method, done) if stopping.is_early else {}
    return Pursuit(Meter(devices, before, budget), stopping, budget, curves=curves)


def proposed(
    sweep: Sweep,
    choices: Choices,
    region: Region,
    spec_of: SpecOf,
    published: Sequence[Mapping[str, Scalar]],
    ledger: StoreLedger,
    budget: Budget | None,
    devices: float,
) -> tuple[Pursuit, dict[str, TrialResult]]:
    """Of trials that a sampler proposes, and the results of those that the sweep has had.

    Raises ``UserError`` where the search would have no end.
    """
    if sweep.limit is None and budget is None and not region.is_finite:
        raise region.where.error("has no end, say how many trials with --max-trials or --budget")
    ids, spent = ledger.sweeps.members(sweep)
    tried = ledger.tried(sweep.method)
    own = {r.spec_id: (values, r) for values, r in tried if r.spec_id in set(ids)}
    chosen = {i: region.chosen(own[i][0]) for i in ids if i in own}
    members = [spec_of(region.point(values)) for values in chosen.values() if values is not None]
    ended = (Status.FINISHED, Status.DIVERGED, Status.STOPPED)
    done = {s.id: own[s.id][1] for s in members if own[s.id][1].status in ended}
    proposals = Proposals(
        region, spec_of, choices.search, choices.search_seed,
        limit=sweep.limit, members=members, again=[s for s in members if s.id not in done],
    )  # fmt: skip
    curves = ledger.curves(sweep.method, done)
    known = [
        (values, result)
        for values, result in tried
        if result.spec_id in done or (result.status.is_final and not choices.cold)
    ]
    learnt = proposals.learn(known, curves)
    first = 0 if choices.cold else proposals.try_first(_inside(region, published))
    stopping = _stopping(choices, [proposals.example])
    meter = Meter(devices, spent, budget)
    return Pursuit(meter, stopping, budget, proposals, curves, learnt, first), done


def _inside(region: Region, points: Sequence[Mapping[str, Scalar]]) -> list[Mapping[str, Scalar]]:
    return [chosen for values in points if (chosen := region.chosen(values)) is not None]


def _stopping(choices: Choices, specs: Sequence[TrialSpec]) -> Stopping:
    longest = max(spec.total_steps for spec in specs)
    if choices.stop != "none" and longest < 2:
        raise UserError(f"--stop {choices.stop}: {choices.method} does not train in steps")
    return Stopping.parse(choices.stop, longest, specs[0].eval_steps)
