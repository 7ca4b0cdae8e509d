"""What trials and times are called wherever they are shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from embedsearch.records import Scalar, TrialSpec


def varied(specs: Sequence[TrialSpec]) -> list[str]:
    """The hyperparameters (and ``seed``) in which trials differ, in the order of the method's."""
    return differing([{**spec.point.values, "seed": spec.seed} for spec in specs])


def differing(rows: Sequence[Mapping[str, Scalar]]) -> list[str]:
    """The names whose values are not the same in all rows, in the order of the rows'."""
    names = dict.fromkeys(name for row in rows for name in row)
    return [name for name in names if len({repr(row.get(name)) for row in rows}) > 1]


def labels(specs: Sequence[TrialSpec]) -> dict[str, str]:
    """What tells the trials of a sweep apart, by spec id: ``alpha=0.1 lambda=0.01``; one that is
    alone has its method's name."""
    names = varied(specs)
    rows = {spec.id: {**spec.point.values, "seed": spec.seed} for spec in specs}
    return {spec.id: assigned(rows[spec.id], names) or spec.point.method for spec in specs}


def assigned(values: Mapping[str, Scalar], names: Sequence[str]) -> str:
    """``alpha=0.1 lambda=0.01`` for those of ``names`` that have a value; six digits at most."""
    shown = {name: values[name] for name in names if name in values}
    return " ".join(
        f"{name}={value:.6g}" if isinstance(value, float) else f"{name}={value}"
        for name, value in shown.items()
    )


def count(number: int, noun: str) -> str:
    """``1 trial``, ``1,200 trials``."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def duration(seconds: float) -> str:
    """``45s``, ``3m05s``, ``2h10m``."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours}h{minutes:02}m"
    return f"{minutes}m{rest:02}s" if minutes else f"{rest}s"
