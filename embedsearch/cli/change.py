"""What has become of a grid since it was swept before."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass


@dataclass(frozen=True)
class Change:
    """A grid beside the earlier sweeps of it in the same setting."""

    earlier: frozenset[str]
    """Spec ids of those sweeps, whatever became of the trials."""
    now: frozenset[str]
    """Those of this command."""
    in_grid: frozenset[str]
    """All of the grid, also what a cap leaves out."""

    @classmethod
    def since(
        cls, earlier: Collection[str], now: Collection[str], in_grid: Collection[str]
    ) -> Change:
        return cls(frozenset(earlier), frozenset(now), frozenset(in_grid) | frozenset(now))

    @property
    def new(self) -> int:
        """Points that no earlier sweep had."""
        return len(self.now - self.earlier)

    @property
    def gone(self) -> int:
        """Earlier points that the grid does not have any more."""
        return len(self.earlier - self.in_grid)

    def said(self) -> list[str]:
        """One line where there were earlier sweeps and this is not simply one of them again."""
        if not self.earlier or not (self.new or self.gone):
            return []
        parts = [
            *([f"{self.new} new"] if self.new else []),
            *([f"{self.gone} earlier ones no longer in it"] if self.gone else []),
        ]
        return [f"the grid's points since its earlier sweeps: {', '.join(parts)}"]
