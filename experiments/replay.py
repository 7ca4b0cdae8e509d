"""What a search would have cost to find a trial as good as an exhaustive grid's best.

    python experiments/replay.py scd --grid log --store STORE …  (the options of the grid's sweep)

The very searcher and rule of ``embedsearch sweep`` propose and stop trials, one at a time; a trial
is not trained but looked up in the grid's ledger, curve and device-seconds. It is charged for what
it ran: one stopped at its k-th of n evaluations (the one before the first step included) for k/n of
its device-seconds, which is more than its share of the steps. Nothing is known to a searcher before
the first trial: no earlier one, and no published value. Start-up and loading are in neither sum.
``--even`` charges every trial the grid's mean: for a ledger made while the machine did other work.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass, replace
from statistics import median
from types import SimpleNamespace
from typing import Any

from embedsearch.cli.job import Job
from embedsearch.cli.layout import EVERY_POINT, make_job
from embedsearch.cli.options import Choices
from embedsearch.records import Status, TrialResult, TrialSpec
from embedsearch.sweep.search.stopping import SCORE, best_so_far
from embedsearch.tracking.ledger import StoreLedger
from embedsearch.tracking.store import Store

STRATEGIES = (("tpe", "asha"), ("tpe", "none"), ("random", "none"), ("random", "asha"))


@dataclass(frozen=True)
class Grid:
    """An exhaustive grid as its ledger has it, by spec id."""

    results: dict[str, TrialResult]
    curves: dict[str, dict[int, float]]

    @property
    def best(self) -> float:
        return max(result.best_score or 0.0 for result in self.results.values())

    def even(self) -> Grid:
        """The same with the mean cost for each trial."""
        mean = self.device_seconds / len(self.results)
        evened = {i: replace(r, device_seconds=mean) for i, r in self.results.items()}
        return Grid(evened, self.curves)

    @property
    def device_seconds(self) -> float:
        return sum(result.device_seconds for result in self.results.values())

    def good(self, within: float) -> set[str]:
        """The ids of the trials at most so far below the best."""
        return {i for i, r in self.results.items() if (r.best_score or 0.0) >= self.best - within}


@dataclass(frozen=True)
class Found:
    """One search, to the first good trial that finished."""

    device_seconds: float
    trials: int
    stopped: int
    lost: int
    """Good trials that the rule stopped before."""


def play(job: Job, grid: Grid, good: set[str]) -> Found:
    """Search until a good trial has finished; all of it where none does."""
    scheduler, proposals = job.pursuit.stopping.scheduler(), job.pursuit.proposals
    cost, trials, stopped, lost = 0.0, 0, 0, 0
    for name, spec in _asked(job):
        curve = grid.curves[spec.id]
        at = stopped_at(scheduler, spec.id, curve)
        seen = [step for step in curve if at is None or step <= at]
        trials += 1
        cost += len(seen) / len(curve) * grid.results[spec.id].device_seconds
        if proposals:
            told = best_so_far({step: curve[step] for step in seen})
            for i, score in enumerate(told.values()):
                proposals.reported(name, i, score)
            proposals.ended(name, grid.results[spec.id] if at is None else None)
        if at is None and spec.id in good:
            break
        stopped += at is not None
        lost += at is not None and spec.id in good
    return Found(cost, trials, stopped, lost)


def _asked(job: Job) -> Iterator[tuple[str, TrialSpec]]:
    proposals = job.pursuit.proposals
    if proposals is None:
        yield from ((spec.id, spec) for spec in job.sweep.specs)
        return
    asked = 0
    while spec := proposals.next(str(asked)):
        yield str(asked), spec
        asked += 1


@dataclass(frozen=True)
class _Trial:
    trial_id: str


def stopped_at(scheduler: Any, spec_id: str, curve: dict[int, float]) -> int | None:
    """The step at which Ray's scheduler stops a trial of such a curve; None for its end."""
    if scheduler is None:
        return None
    controller, trial = SimpleNamespace(get_live_trials=list), _Trial(spec_id)
    scheduler.on_trial_add(controller, trial)
    for step, score in best_so_far(curve).items():
        report = {"step": step, SCORE: score}
        if scheduler.on_trial_result(controller, trial, report) == "STOP":
            return step
    return None


def read_grid(ledger: StoreLedger, job: Job) -> Grid:
    """The finished trials of a listed job. Raises ``SystemExit`` where one is missing."""
    results = dict(ledger.results(job.sweep.specs))
    done = {i for i, result in results.items() if result.status is Status.FINISHED}
    missing = len(job.sweep.specs) - len(done)
    if missing:
        raise SystemExit(f"{missing} of {len(job.sweep.specs)} trials of the grid are missing")
    return Grid(results, ledger.curves(job.sweep.method, done))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("method")
    parser.add_argument("--grid", required=True)
    for option in ("preset", "corpus", "dev", "store"):
        parser.add_argument(f"--{option}")
    for option in ("steps", "eval-steps"):
        parser.add_argument(f"--{option}", type=int)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--within", type=float, default=0.3)
    parser.add_argument("--even", action="store_true")
    given = vars(parser.parse_args())
    seeds, within, even = (given.pop(name) for name in ("seeds", "within", "even"))
    store = Store.open(given.pop("store"))
    choices = Choices(**given, max_trials=EVERY_POINT, storage=str(store.storage))
    ledger = StoreLedger(store)
    grid = read_grid(ledger, make_job(choices, ledger, gpus=0))
    grid = grid.even() if even else grid
    good = grid.good(within)
    print(
        f"{len(grid.results)} trials, {grid.device_seconds:.0f} device-seconds, best "
        f"{grid.best:.2f}, {len(good)} within {within}"
    )
    for name, rule in STRATEGIES:
        found = []
        for seed in range(seeds):
            how = replace(choices, search=name, stop=rule, search_seed=seed, cold=name == "tpe")
            found.append(play(make_job(how, ledger, gpus=0), grid, good))
        costs = sorted(each.device_seconds / grid.device_seconds for each in found)
        print(
            f"{name:>6} + {rule:<4}  median {median(costs):6.1%} of the grid's, from "
            f"{costs[0]:.1%} to {costs[-1]:.1%}; trials {median(f.trials for f in found):g}, "
            f"stopped {median(f.stopped for f in found):g}; {sum(f.lost for f in found)} good "
            f"ones stopped in {seeds} searches"
        )


if __name__ == "__main__":
    main()
