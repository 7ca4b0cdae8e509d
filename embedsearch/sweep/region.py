"""What a grid spans once all layers lie on it, and the points taken from that."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice, product

from embedsearch.config import validate
from embedsearch.document import COMMAND_LINE, Where
from embedsearch.methods.base import MethodConfig
from embedsearch.records import Point, Scalar, content_id
from embedsearch.sweep.axis import Axis, Choice
from embedsearch.sweep.condition import Condition

MAX_COMBINATIONS = 200_000
TRIES_PER_POINT = 200
"""How many draws may break a condition or repeat a point, for each point that is asked for."""

Draw = Callable[[Mapping[str, Axis], int], Iterator[Mapping[str, Scalar]]]
"""Endless choices of one value per axis; the same ones, in the same order, for the same seed."""


@dataclass(frozen=True)
class GridPoints:
    """The points to run, in the order of the file, and what became of the others."""

    points: tuple[Point, ...]
    total: int
    """Different, allowed points: those to run and those left out."""
    duplicates: int
    excluded: int
    """By conditions."""
    left_out: int
    """By the cap."""
    notes: Mapping[str, Scalar]
    """``learning_rate_factor`` where one was applied, ``family`` where it decided the values."""


@dataclass(frozen=True)
class Region:
    """A method's hyperparameters: those that are settled (``base``) and those that vary."""

    method: str
    target: str
    config: type[MethodConfig]
    base: Mapping[str, Scalar]
    axes: Mapping[str, Axis]
    conditions: tuple[Condition, ...]
    notes: Mapping[str, Scalar]
    where: Where
    fixed: tuple[str, ...] = ()
    """What varies in the grid, and is settled by the command line."""

    def must_vary(self) -> None:
        """Raise ``UserError`` where nothing varies, with who is to blame."""
        if not self.axes and self.fixed:
            said = ", ".join(self.fixed)
            raise COMMAND_LINE.error(
                f"with {said} said there is one point only, and nothing to search: leave one out"
            )
        if not self.axes:
            raise self.where.error("has one point only, so there is nothing to search")

    def allows(self, chosen: Mapping[str, Scalar]) -> bool:
        """Whether every condition holds for a choice of one value per axis."""
        values = {**self.base, **chosen}
        return all(condition.holds(values) for condition in self.conditions)

    @property
    def is_finite(self) -> bool:
        """Whether its points can be enumerated."""
        return all(isinstance(axis, Choice) for axis in self.axes.values())

    def chosen(self, values: Mapping[str, Scalar]) -> dict[str, Scalar] | None:
        """The choice that gives a point these values; None where they lie outside."""
        if not all(name in values and axis.holds(values[name]) for name, axis in self.axes.items()):
            return None
        chosen = {name: values[name] for name in self.axes}
        return chosen if self.allows(chosen) else None

    def point(self, chosen: Mapping[str, Scalar]) -> Point:
        """The whole point of a choice of one value per axis."""
        config = validate(self.config, {**self.base, **chosen}, self.where)
        return Point(self.method, self.target, config.values())

    def points(
        self,
        max_trials: int | None = None,
        seed: int = 0,
        draw: Draw | None = None,
        *,
        shuffled: bool = False,
    ) -> GridPoints:
        """All allowed points, or ``max_trials`` of them, in their order or ``shuffled``.

        Which ones depends on ``seed`` and on each point alone, so that a smaller cap takes a part
        of what a larger one takes. Axes that are ranges are drawn from by ``draw``. Raises
        ``UserError`` where no point is left, there are too many, or a range comes without a cap.
        """
        if max_trials is not None and max_trials < 1:
            raise self.where.error(f"{max_trials} trials are none, take at least 1")
        if not self.is_finite:
            return self._drawn(max_trials, seed, draw)
        allowed, duplicates, excluded = self._sorted_out(self._combinations())
        if not allowed:
            raise self.where.error(f"no point is left, all {excluded} break {self._conditions()}")
        chosen = _part_of(allowed, max_trials, seed, shuffled)
        return self._grid_points(chosen, duplicates, excluded, len(allowed) - len(chosen))

    def choices(self, seed: int = 0) -> list[Mapping[str, Scalar]]:
        """The allowed choices of a finite region, shuffled by ``seed``."""
        return _part_of(self._sorted_out(self._combinations())[0], None, seed, shuffled=True)

    def _combinations(self) -> Iterator[dict[str, Scalar]]:
        values = [axis.values for axis in self.axes.values() if isinstance(axis, Choice)]
        count = math.prod(map(len, values))
        if count > MAX_COMBINATIONS:
            raise self.where.error(
                f"its {count:,} combinations are more than {MAX_COMBINATIONS:,}, narrow it"
            )
        return (dict(zip(self.axes, combination, strict=True)) for combination in product(*values))

    def _drawn(self, max_trials: int | None, seed: int, draw: Draw | None) -> GridPoints:
        if max_trials is None:
            raise self.where.error("has no end, say how many trials with --max-trials N")
        if draw is None:
            raise ValueError("a range can't be enumerated: pass draw")
        draws = draw(self.axes, seed)
        chosen, duplicates, excluded = self._sorted_out(
            islice(draws, TRIES_PER_POINT * max_trials), enough=max_trials
        )
        if len(chosen) < max_trials:
            raise self.where.error(
                f"{TRIES_PER_POINT * max_trials} draws gave {len(chosen)} of {max_trials} points, "
                f"with {excluded} that break {self._conditions()} and {duplicates} repeated ones"
            )
        return self._grid_points(chosen, duplicates, excluded, left_out=0)

    def _sorted_out(
        self, choices: Iterable[Mapping[str, Scalar]], enough: int | None = None
    ) -> tuple[list[Mapping[str, Scalar]], int, int]:
        """The different and allowed choices, how many are doubles, how many are excluded."""
        seen: set[tuple[Scalar, ...]] = set()
        allowed: list[Mapping[str, Scalar]] = []
        duplicates = excluded = 0
        for chosen in choices:
            key = tuple(chosen[name] for name in self.axes)
            if key in seen:
                duplicates += 1
            elif self.allows(chosen):
                allowed.append(chosen)
            else:
                excluded += 1
            seen.add(key)
            if len(allowed) == enough:
                break
        return allowed, duplicates, excluded

    def _grid_points(
        self, chosen: list[Mapping[str, Scalar]], duplicates: int, excluded: int, left_out: int
    ) -> GridPoints:
        points = tuple(map(self.point, chosen))
        total = len(points) + left_out
        return GridPoints(points, total, duplicates, excluded, left_out, self.notes)

    def _conditions(self) -> str:
        return " or ".join(f"'{condition.text}'" for condition in self.conditions) or "nothing"


def _part_of(
    choices: list[Mapping[str, Scalar]], count: int | None, seed: int, shuffled: bool
) -> list[Mapping[str, Scalar]]:
    """``count`` of ``choices``, in their order or not: the first of a permutation ``seed`` makes.

    A choice's place in it comes from a hash of the choice itself, so a grid that grows keeps most
    of what was taken from it before.
    """
    if not shuffled and (count is None or count >= len(choices)):
        return choices
    ranked = sorted(range(len(choices)), key=lambda i: content_id([seed, dict(choices[i])]))
    taken = ranked[:count]
    return [choices[i] for i in (taken if shuffled else sorted(taken))]
