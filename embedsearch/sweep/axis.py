"""What one hyperparameter may be in a grid, as a space writes it.

``0.1`` or ``[0.1, 0.3]`` (these values), ``{start: 0.1, stop: 0.5, step: 0.1}`` (decimal, the stop
included), ``{low: 0.001, high: 1, log: true}`` (a range to draw from), and around a centre
``{step: 0.01, within: 0.05}`` (so far to both sides) or ``{factors: [0.5, 1, 2]}`` (times it), both
without what lies outside an optional ``low`` and ``high``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from embedsearch.config import fields, typed, unknown, validate
from embedsearch.document import Series, Table, Where
from embedsearch.records import Scalar

MAX_VALUES = 10_000
_SHOWN = 6
"""Of a list's values."""

Positive = Annotated[Decimal, Field(gt=0)]


@dataclass(frozen=True)
class Choice:
    """These values, in their order, doubles included."""

    values: tuple[Scalar, ...]

    def holds(self, value: Scalar) -> bool:
        return value in self.values

    def __str__(self) -> str:
        """A long one in part."""
        shown = [_written(value) for value in self.values]
        if len(shown) > _SHOWN:
            shown = [*shown[:2], "…", f"{shown[-1]} ({len(shown)} values)"]
        return ", ".join(shown)


@dataclass(frozen=True)
class Range:
    """Every number from ``low`` to ``high``, both included."""

    low: float
    high: float
    log: bool = False
    integer: bool = False

    def holds(self, value: Scalar) -> bool:
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return is_number and self.low <= float(value or 0) <= self.high

    def __str__(self) -> str:
        log = ", log" if self.log else ""
        return f"{_written(self.low)} to {_written(self.high)}{log}"


Axis = Choice | Range


class _Form(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class _Steps(_Form):
    start: Decimal
    stop: Decimal
    step: Positive

    @model_validator(mode="after")
    def _is_finite(self) -> Self:
        if self.stop < self.start:
            raise ValueError(f"the stop {self.stop} lies below the start {self.start}")
        _limit((self.stop - self.start) // self.step)
        return self

    def values(self) -> list[Decimal]:
        count = int((self.stop - self.start) // self.step) + 1
        return [self.start + i * self.step for i in range(count)]


class _Bounds(_Form):
    low: Decimal
    high: Decimal
    log: bool = False

    @model_validator(mode="after")
    def _is_a_range(self) -> Self:
        if self.high <= self.low:
            raise ValueError(f"the high {self.high} does not lie above the low {self.low}")
        if self.log and self.low <= 0:
            raise ValueError(f"a logarithmic range starts above 0, not at {self.low}")
        return self


class Near(_Form):
    """Values that depend on a centre's."""

    low: Decimal | None = None
    high: Decimal | None = None

    def values(self, centre: Decimal) -> list[Decimal]:
        """Those inside the bounds, in their order."""
        return [
            value
            for value in self._all(centre)
            if (self.low is None or value >= self.low) and (self.high is None or value <= self.high)
        ]

    def _all(self, centre: Decimal) -> Iterator[Decimal]:
        raise NotImplementedError


class _Within(Near):
    step: Positive
    within: Positive

    @model_validator(mode="after")
    def _is_finite(self) -> Self:
        _limit(2 * self.within // self.step)
        return self

    def _all(self, centre: Decimal) -> Iterator[Decimal]:
        steps = int(self.within // self.step)
        return (centre + i * self.step for i in range(-steps, steps + 1))


class _Factors(Near):
    factors: Annotated[list[Positive], Field(min_length=1)]

    def _all(self, centre: Decimal) -> Iterator[Decimal]:
        return (centre * factor for factor in self.factors)


_FORMS: dict[str, type[_Form]] = {
    "start": _Steps,
    "stop": _Steps,
    "within": _Within,
    "factors": _Factors,
    "step": _Steps,
    "low": _Bounds,
    "high": _Bounds,
}
"""The first of these keys that is there says what is meant."""


def parse_axis(model: type[BaseModel], key: str, written: Any, where: Where) -> Axis | Near:
    """The values that ``written`` gives the field ``key`` of ``model``, each typed by it.

    Raises ``UserError`` with the place for an unknown key, no value, or one the field refuses.
    """
    if key not in fields(model):
        raise where.error(unknown("hyperparameter", key, fields(model)))
    if isinstance(written, Table):
        form = _parse_form(written)
        return form if isinstance(form, Near) else _absolute(model, key, form, where)
    items = written if isinstance(written, Series) else [written]
    if not items:
        raise where.error("an empty list leaves nothing to try, give it a value or leave it out")
    return Choice(tuple(typed(model, key, item, getattr(item, "where", where)) for item in items))


def around(model: type[BaseModel], key: str, near: Near, centre: Scalar, where: Where) -> Choice:
    """The values of ``near`` round a centre's, typed; ``UserError`` where there is none."""
    if isinstance(centre, bool) or not isinstance(centre, int | float):
        raise where.error(f"nothing lies near '{centre}', which is no number")
    values = near.values(Decimal(str(centre)))
    if not values:
        raise where.error(f"no value near the centre's {centre} lies inside the bounds")
    return Choice(tuple(typed(model, key, str(value), where) for value in values))


def _parse_form(written: Table) -> _Form:
    for key, form in _FORMS.items():
        if key in written:
            return validate(form, written)
    raise written.where.error(
        "write {start, stop, step}, {low, high, log}, {step, within} or {factors}"
    )


def _absolute(model: type[BaseModel], key: str, form: _Form, where: Where) -> Axis:
    if isinstance(form, _Steps):
        return Choice(tuple(typed(model, key, str(value), where) for value in form.values()))
    assert isinstance(form, _Bounds)
    low, high = (typed(model, key, str(bound), where) for bound in (form.low, form.high))
    if isinstance(low, bool) or not isinstance(low, int | float):
        raise where.error("is no number, and so has no range")
    return Range(low, high, form.log, integer=isinstance(low, int))


def _written(value: Scalar) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _limit(steps: Decimal) -> None:
    if steps >= MAX_VALUES:
        raise ValueError(f"{int(steps) + 1} values are more than {MAX_VALUES}, take a larger step")
