"""Which trials may be compared, and which is the best among them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from itertools import groupby
from statistics import fmean, stdev
from typing import Any, TypeVar

from embedsearch.records import CONFIRM, Scalar
from embedsearch.tracking.group import Group

T = TypeVar("T")
PRINTED_THE_SAME = 0.005
"""Scores are printed to two decimals; closer ones are a tie whatever the seeds say."""

CONFIRMED_BY = 2
"""Fresh seeds that make a mean with a spread."""


@dataclass(frozen=True)
class Trial:
    """One trial as the store has it."""

    run_id: str
    point_id: str
    group: Group
    grids: frozenset[str]
    preset: str
    seed: int
    values: Mapping[str, Scalar]
    score: float | None
    """Best dev score; None unless the trial finished with one."""
    start_score: float | None
    step: int | None
    checkpoint: str | None
    ended: int
    """Milliseconds since 1970."""
    tests: Mapping[str, float] = field(default_factory=dict)
    """What it scored on test sets, where it was evaluated; never ranked by."""
    spec_id: str = ""
    device_seconds: float = 0.0
    """What it cost, whatever became of it."""
    division: Mapping[str, Scalar] = field(default_factory=dict)
    """What its batches were divided by; empty where they were whole."""

    @property
    def shown(self) -> dict[str, Scalar]:
        """What tells it from the trials of other points."""
        return {**self.values, **self.division}

    @property
    def point(self) -> tuple[Any, ...]:
        """What its seeds share: to divide the batches makes other trials of the same values."""
        return self.point_id, *sorted(self.division.items())

    @property
    def confirms(self) -> bool:
        """Whether it was run to confirm, and by no search: one that was may be its winner."""
        return self.grids == {CONFIRM}


@dataclass(frozen=True)
class Entry:
    """One point with all its seeds; the better seed first."""

    trials: tuple[Trial, ...]

    @cached_property
    def fresh(self) -> tuple[Trial, ...]:
        """The trials that confirm the point; empty where they are too few to say how sure."""
        found = tuple(trial for trial in self.trials if trial.confirms)
        return found if len(found) >= CONFIRMED_BY else ()

    @property
    def counted(self) -> tuple[Trial, ...]:
        """Those its score is of: the fresh ones, or all where the point is not confirmed."""
        return self.fresh or self.trials

    @property
    def leader(self) -> Trial:
        """The best seed that still has its checkpoint, else the best seed."""
        return next((trial for trial in self.trials if trial.checkpoint), self.trials[0])

    @cached_property
    def scores(self) -> tuple[float, ...]:
        return tuple(trial.score for trial in self.counted if trial.score is not None)

    @property
    def mean(self) -> float:
        return fmean(self.scores)

    @property
    def sd(self) -> float | None:
        """Over the seeds; None with one."""
        return stdev(self.scores) if len(self.scores) > 1 else None

    def to_json(self) -> dict[str, Any]:
        """All numbers; ``why`` has the reason of each that is null."""
        leader, sd = self.leader, self.sd
        searched = [t.score for t in self.trials if not t.confirms]
        starts = [t.start_score for t in self.trials if t.start_score is not None]
        numbers = {
            "sd": (sd, "one seed"),
            "start_score": (fmean(starts) if starts else None, "no score before the first step"),
            "checkpoint": (leader.checkpoint, "not among the best that the store keeps"),
        }
        return {
            "score": self.mean,
            **{name: value for name, (value, _) in numbers.items()},
            "values": dict(leader.values),
            "division": dict(leader.division),
            "confirmed": bool(self.fresh),
            "search_scores": searched,
            "seeds": [trial.seed for trial in self.counted],
            "scores": list(self.scores),
            "run_id": leader.run_id,
            "point_id": leader.point_id,
            "step": leader.step,
            "tests": dict(leader.tests),
            "why": {name: reason for name, (value, reason) in numbers.items() if value is None},
        }


@dataclass(frozen=True)
class Ranking:
    """The points of one comparable group, best first; empty when no trial has a score."""

    group: Group | None
    entries: tuple[Entry, ...]
    points: int = 0
    """How many points the group has; ``entries`` may be its top only."""
    varying: frozenset[str] = frozenset()
    """The hyperparameters, and the divisions of batches, in which the group's points differ."""
    others: tuple[tuple[Group, int], ...] = ()
    """The other groups, with their numbers of points, largest first."""
    unscored: int = 0
    """Trials that ended, or run, without a score."""
    tied: int = 0
    """How many of the points lie within the seeds' spread of the first, itself included; where it
    is confirmed, of the confirmed ones."""
    higher: int = 0
    """Points that are not confirmed and score higher, in the search, than a confirmed first."""

    def top(self, count: int) -> Ranking:
        """The same ranking with its first ``count`` entries only."""
        return replace(self, entries=self.entries[:count])

    def to_json(self) -> dict[str, Any]:
        return {
            "group": self.group and _as_json(self.group),
            "points": self.points,
            "unscored": self.unscored,
            "tied": self.tied,
            "unconfirmed_higher": self.higher,
            "varying": sorted(self.varying),
            "best": [entry.to_json() for entry in self.entries],
            "others": [{**_as_json(group), "points": count} for group, count in self.others],
        }


def rank(trials: Iterable[Trial], group_key: str | None = None) -> Ranking:
    """Rank the points of one group, by default the one with the most recent scored trial.

    A point counts with the mean over its seeds, a confirmed one with that over the fresh ones: the
    search's own seed is the luckiest of many. So those come before the others, whatever these
    score. A trial without a score never counts.
    """
    found = list(trials)
    scored = [trial for trial in found if trial.score is not None]
    latest = max(scored, key=lambda trial: trial.ended, default=None)
    key = group_key or (latest.group.key if latest else "")
    groups = {k: list(g) for k, g in groupby(sorted(scored, key=_group_key), key=_group_key)}
    chosen = _entries(groups.pop(key, []))
    others = [(g[0].group, len({trial.point for trial in g})) for g in groups.values()]
    return Ranking(
        group=chosen[0].leader.group if chosen else None,
        entries=chosen,
        points=len(chosen),
        varying=_varying([entry.leader.shown for entry in chosen]),
        others=tuple(sorted(others, key=lambda pair: -pair[1])),
        unscored=len(found) - len(scored),
        tied=sum(_is_tie(chosen[0], entry) for entry in chosen),
        higher=sum(not e.fresh and e.mean > chosen[0].mean for e in chosen),
    )


def common_groups(trials: Mapping[str, Sequence[Trial]]) -> dict[str, Group]:
    """The groups to compare searches in, by their names; one without any such trial is left out.

    First what most of them have in common of dev pairs and protocol, then among that the group that
    most have, which they are compared in; one that does not have it with its own latest group. Of
    equals the latest.
    """
    scored = {
        name: [trial for trial in of if trial.score is not None and not trial.confirms]
        for name, of in trials.items()
    }
    measure = _commonest({n: [(t.group.measure, t.ended) for t in of] for n, of in scored.items()})
    alike = {n: [t for t in of if t.group.measure == measure] for n, of in scored.items()}
    group = _commonest({n: [(t.group, t.ended) for t in of] for n, of in alike.items()})
    return {
        name: group if any(t.group == group for t in of) else max(of, key=lambda t: t.ended).group
        for name, of in alike.items()
        if of and group is not None
    }


def _commonest(found: Mapping[str, Sequence[tuple[T, int]]]) -> T | None:
    """What the most names have, of equals the latest; each is said with its time."""
    names: dict[T, set[str]] = {}
    latest: dict[T, int] = {}
    for name, each in found.items():
        for what, ended in each:
            names.setdefault(what, set()).add(name)
            latest[what] = max(latest.get(what, ended), ended)
    return max(names, key=lambda what: (len(names[what]), latest[what]), default=None)


def _as_json(group: Group) -> dict[str, Any]:
    return {"name": str(group), **asdict(group)}


def _group_key(trial: Trial) -> str:
    return trial.group.key


def _entries(trials: Sequence[Trial]) -> tuple[Entry, ...]:
    """Points, best first; of a seed that ran twice (on other threads, say) the latest counts."""
    latest = {(t.point, t.seed): t for t in sorted(trials, key=lambda t: t.ended)}
    by_point: dict[tuple[Any, ...], list[Trial]] = {}
    for trial in sorted(latest.values(), key=lambda t: (-(t.score or 0), t.seed)):
        by_point.setdefault(trial.point, []).append(trial)
    entries = [Entry(tuple(group)) for group in by_point.values()]
    return tuple(sorted(entries, key=lambda entry: (not entry.fresh, -entry.mean)))


def _varying(values: Sequence[Mapping[str, Scalar]]) -> frozenset[str]:
    names = {name for point in values for name in point}
    return frozenset(n for n in names if len({repr(point.get(n)) for point in values}) > 1)


def _is_tie(first: Entry, other: Entry) -> bool:
    return bool(first.fresh) == bool(other.fresh) and first.mean - other.mean < max(
        first.sd or 0.0, other.sd or 0.0, PRINTED_THE_SAME
    )
