"""What a command is to run: the sweep, what of it is known, and what is left."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from embedsearch import remains
from embedsearch.cli.change import Change, Departure
from embedsearch.cli.pursuit import Pursuit
from embedsearch.cli.surroundings import Surroundings
from embedsearch.labels import assigned, count, labels, varied
from embedsearch.place import Place
from embedsearch.records import Scalar, Status, Sweep, TrialResult, TrialSpec
from embedsearch.sweep.region import GridPoints
from embedsearch.sweep.search import Proposals
from embedsearch.sweep.space import Space
from embedsearch.tracking.ledger import StoreLedger


@dataclass(frozen=True)
class Job:
    """A command's trials, in order, and what the ledger knows of them."""

    space: Space
    surroundings: Surroundings
    notes: Mapping[str, Scalar]
    """What was done to the points."""
    counted: str
    """How many trials there are, and what became of the other points."""
    sweep: Sweep
    reused: Mapping[str, TrialResult]
    pursuit: Pursuit
    refused: Sequence[str] = ()
    """Why points can't run on the backbone, for each of them."""
    change: Change | Departure | None = None
    """Since earlier sweeps of the grid; None for a single trial, and where there is none to say."""

    @property
    def sweeps(self) -> tuple[Sweep, ...]:
        return (self.up_to_now(),)

    def up_to_now(self) -> Sweep:
        """The sweep with the trials that were proposed so far, and why it has ended if it has."""
        proposals, ended = self.pursuit.proposals, self.pursuit.ended
        specs = tuple(proposals.specs.values()) if proposals else self.sweep.specs
        notes = {**self.sweep.notes, **({"ended": ended} if ended else {})}
        return replace(self.sweep, specs=specs, notes=notes)

    @property
    def names(self) -> Mapping[str, str]:
        """What trials are called, by spec id; those that are yet to be proposed have no name."""
        if self.sweep.axes:
            return {s.id: assigned(s.point.values, self.sweep.axes) for s in self.sweep.specs}
        return labels(self.sweep.specs)

    @property
    def to_run(self) -> Sequence[TrialSpec] | Proposals:
        """What is left to run, or who proposes it; empty for nothing."""
        return self.pursuit.to_run(self.missing)

    @property
    def missing(self) -> list[TrialSpec]:
        """The specs that have no final result yet."""
        return [spec for spec in self.sweep.specs if spec.id not in self.reused]

    def said(self, at_once: int) -> list[str]:
        """What is to run and what is not, in lines."""
        to_run = "" if self.sweep.axes else f", {len(self.missing)} to run"
        lines = [f"{self.sweep.method} {self.sweep.grid}: {self.counted}, {len(self.reused)} known"
                 f"{to_run}, {at_once} at once"]  # fmt: skip
        lines += self.pursuit.said(str(self.sweep.notes.get("search", "grid")))
        lines += [f"{n} can't run here: {reason}" for reason, n in Counter(self.refused).items()]
        lines += self.change.said() if self.change else []
        if "around" in self.sweep.notes:
            centre = json.loads(str(self.sweep.notes["centre"]))
            where = assigned(centre, varied(self.sweep.specs))
            lines.append(f"around {self.sweep.notes['around']}: {where}")
        if "learning_rate_factor" in self.notes:
            factor = self.notes["learning_rate_factor"]
            lines.append(f"learning rate times {factor:g} (preset {self.sweep.preset})")
        if "family" in self.notes:
            lines.append(f"values for {self.notes['family']}")
        return lines


def counted(points: GridPoints, specs: int) -> str:
    """How many trials there are, and what became of the other points, in words."""
    trials = count(specs, "trial")
    if points.left_out:
        trials += f" of {points.total} ({points.left_out} left out by the cap)"
    dropped = f", {count(points.duplicates, 'duplicate')} dropped" if points.duplicates else ""
    excluded = f", {points.excluded} excluded by conditions" if points.excluded else ""
    return trials + dropped + excluded


def known(
    specs: Sequence[TrialSpec], ledger: StoreLedger, place: Place
) -> Mapping[str, TrialResult]:
    """The final results that the store has, by spec id.

    What it lost is forgotten in ``place`` too, where the checkpoint is not there any more.
    """
    stale = [spec.id for spec in specs if remains.has_lost_checkpoint(place, spec.id)]
    reused = ledger.results(specs)
    for spec_id in stale:
        if spec_id not in reused:
            remains.forget(place, spec_id)
    return reused


def best_of(
    specs: Sequence[TrialSpec], results: Mapping[str, TrialResult]
) -> tuple[TrialSpec, TrialResult] | None:
    """The finished trial with the highest dev score, the first of equals; None without any."""
    scored = [
        (spec, results[spec.id])
        for spec in specs
        if spec.id in results and results[spec.id].status is Status.FINISHED
    ]
    scored = [pair for pair in scored if pair[1].best_score is not None]
    return max(scored, key=lambda pair: pair[1].best_score or 0.0, default=None)
