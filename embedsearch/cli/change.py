"""What has become of a grid, or of a search, since an earlier command."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from embedsearch.labels import count
from embedsearch.records import Sweep
from embedsearch.setting import Setting
from embedsearch.sweep.region import Region
from embedsearch.tracking.sweeps import Sweeps

SPAN = "span"
"""The note of what a search is in."""
HOW = ("search", "search_seed", "stop")
"""The notes of how it goes about it."""
_SHOWN = 5


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
            *([f"{count(self.gone, 'earlier one')} no longer in it"] if self.gone else []),
        ]
        return [f"the grid's points since its earlier sweeps: {', '.join(parts)}"]


@dataclass(frozen=True)
class Departure:
    """A new search beside an earlier one of the same grid, which is not gone on with."""

    search: str
    was: Mapping[str, str]
    now: Mapping[str, str]

    @classmethod
    def of(cls, sweep: Sweep, sweeps: Sweeps) -> Departure | None:
        """From the search on record that is most like it, by the same searcher, seed and rule;
        None where there is none, or it is gone on with."""
        found = sweeps.notes(sweep.method, sweep.grid)
        if sweep.id in found:
            return None
        name = f"grid {sweep.grid} by {sweep.notes['search']}"
        now = json.loads(str(sweep.notes[SPAN]))
        alike = [
            cls(name, json.loads(str(notes[SPAN])), now)
            for notes in found.values()
            if SPAN in notes and all(notes.get(key) == sweep.notes.get(key) for key in HOW)
        ]
        return min(alike, key=lambda each: len(each.differing), default=None)

    @property
    def differing(self) -> list[str]:
        """The names of what is not as it was."""
        names = {**self.was, **self.now}
        return [name for name in names if self.was.get(name, "") != self.now.get(name, "")]

    def said(self) -> list[str]:
        """One line, with what differs."""
        names = self.differing
        told = [
            f"{name} was {self.was.get(name) or 'none'} and is {self.now.get(name) or 'none'}"
            for name in names[:_SHOWN]
        ]
        told += [f"{len(names) - _SHOWN} more differ"] if len(names) > _SHOWN else []
        where = "; ".join(told) or "some values in long lists differ"
        return [f"a new search: an earlier one of {self.search} is in the store, where {where}"]


def span(setting: Setting, region: Region) -> dict[str, str]:
    """What a search is in, in words by name: its setting, and its space under all layers."""
    sources = {"backbone": setting.backbone, "corpus": setting.corpus, "dev": setting.dev}
    how = ("steps", "epochs", "eval_steps", "seed", "device", "precision", "chunk_size", "ranks")
    return {
        **{name: f"{source.name} ({source.fingerprint[:6]})" for name, source in sources.items()},
        **{name: str(value) for name in how if (value := getattr(setting, name)) is not None},
        **{name: str(value) for name, value in {**region.base, **region.axes}.items()},
        "conditions": ", ".join(condition.text for condition in region.conditions),
    }
