"""What a command's trials come to: shown while they run, recorded, and said at the end."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Protocol

from rich.console import Console

from embedsearch import remains
from embedsearch.cli.job import Job
from embedsearch.cli.observers import ByMethod, Everyone, Fetching
from embedsearch.cli.options import C
from embedsearch.cli.site import Site
from embedsearch.errors import UserError
from embedsearch.place import Place
from embedsearch.records import Observer, Sweep, TrialResult, TrialSpec
from embedsearch.report.live import LiveView, PlainView
from embedsearch.report.summary import Summary
from embedsearch.sweep import search
from embedsearch.sweep.budget import Meter
from embedsearch.tracking.guarded import Guarded
from embedsearch.tracking.ledger import StoreLedger
from embedsearch.tracking.store import Store
from embedsearch.tracking.writer import Writer

Results = Mapping[str, TrialResult]
ToRun = Sequence[TrialSpec] | search.Proposals
Run = Callable[[ToRun, Observer], object]
"""Runs specs and tells the observer; whatever stops it, what ended was told."""


class Work(Protocol):
    """What a command is to run: at most one sweep of each method."""

    @property
    def surroundings(self) -> Site: ...
    @property
    def sweeps(self) -> Sequence[Sweep]: ...
    @property
    def reused(self) -> Results: ...
    @property
    def to_run(self) -> ToRun:
        """What is left to run, or who proposes it; empty for nothing."""

    @property
    def names(self) -> Mapping[str, str]:
        """What trials are called, by spec id."""

    def said(self, at_once: int) -> list[str]:
        """What is to run and what is not, in lines."""


@dataclass(frozen=True)
class Output:
    """Where a job's results go: the store, and the terminal or a program."""

    store: Store
    keep: int | None
    as_json: bool

    @property
    def ledger(self) -> StoreLedger:
        return StoreLedger(self.store)

    @property
    def console(self) -> Console:
        return Console(stderr=self.as_json, highlight=False, markup=False)

    def beside_the_store(self, choices: C) -> C:
        """``choices`` with the storage that belongs to the store, unless they name another."""
        return replace(choices, storage=choices.storage or str(self.store.storage))

    def concluded(self, job: Job, run: Run, at_once: int) -> Summary:
        """Run what is missing, showing and recording it; how it ended."""
        results = self.carry_out(job, run, at_once, job.pursuit.meter)
        return Summary(job.up_to_now(), results, job.pursuit.stopping.rungs)

    def carry_out(self, work: Work, run: Run, at_once: int, meter: Meter | None = None) -> Results:
        """Run what is missing, showing and recording it; all results by spec id."""
        console = self.console
        place, to_run = work.surroundings.place, work.to_run
        said = [work.surroundings.said, *_in_bucket(place), *work.said(at_once)]
        console.print(*said, sep="\n", soft_wrap=True)
        missing = [] if isinstance(to_run, search.Proposals) else to_run
        view = (LiveView if console.is_terminal else PlainView)(
            console, at_once, _seconds_a_trial(missing, self.ledger), work.names
        )
        writers = {sweep.method: self._writer(place, meter) for sweep in work.sweeps}
        observer = Fetching(place, Everyone(view, ByMethod(writers)))
        for sweep in work.sweeps:
            observer.sweep_started(sweep, _of(sweep, work.reused))
        remains.tidy(place, work.reused)
        try:
            if to_run:
                run(to_run, observer)
        except KeyboardInterrupt:
            pass
        finally:
            with search.unstoppable():
                for sweep in work.sweeps:
                    observer.sweep_ended(sweep, _of(sweep, view.results))
        return view.results

    def _writer(self, place: Place, meter: Meter | None) -> Observer:
        def stored(spec: TrialSpec) -> None:
            remains.tidy(place, [spec.id])

        spent = (lambda: meter.spent) if meter else None
        writer = Writer(self.store, keep=self.keep, stored=stored, spent=spent)
        return Guarded(self.store, writer)

    def say(self, end: Summary, before: Sequence[Summary] = ()) -> None:
        """How a sweep ended: in words, or as one JSON object, with those ``before`` it."""
        end, kept = self._with_checkpoints(end)
        if not self.as_json:
            self.console.print(*end.lines(kept), sep="\n", soft_wrap=True)
            return
        earlier = [each.to_json(kept) for each, kept in map(self._with_checkpoints, before)]
        write_json({**end.to_json(kept), **({"before": earlier} if earlier else {})})

    def _with_checkpoints(self, end: Summary) -> tuple[Summary, dict[str, str]]:
        kept = self.ledger.results(end.sweep.specs)
        found = {key: r.checkpoint for key, r in kept.items() if r.checkpoint is not None}
        return replace(end, curves=self._curves(end)), found

    def _curves(self, end: Summary) -> search.Curves:
        """Only where they are asked for: of trials that ran before, they lie in the store."""
        known = [key for key, result in end.results.items() if not result.history]
        return self.ledger.curves(end.sweep.method, known) if end.rungs else {}


def _in_bucket(place: Place) -> list[str]:
    """Where work in progress is, in a line, where that is not simply a folder."""
    if not place.bucket:
        return []
    return [f"work in progress in {place.bucket.address}, on each node under {place.folder}"]


def kept(keep: str) -> int | None:
    if keep == "all":
        return None
    if keep.isdecimal() and int(keep) > 0:
        return int(keep)
    raise UserError(f"--keep {keep}: give a number of checkpoints from 1, or all")


def _of(sweep: Sweep, results: Results) -> Results:
    return {spec.id: results[spec.id] for spec in sweep.specs if spec.id in results}


def _seconds_a_trial(specs: Sequence[TrialSpec], ledger: StoreLedger) -> float | None:
    """The mean over those that train; None where a method's pace is not known."""
    steps = [(spec.point.method, spec.total_steps) for spec in specs if spec.total_steps]
    pace = {method: ledger.seconds_per_step(method) for method, _ in steps}
    costs = [seconds * count for method, count in steps if (seconds := pace[method]) is not None]
    return fmean(costs) if costs and len(costs) == len(steps) else None


def write_json(value: object) -> None:
    sys.stdout.write(json.dumps(value, indent=1, allow_nan=False) + "\n")
