"""200 trials of which a third fail in different ways, over nodes with logical GPUs, one of which
is lost: every trial has one end, one run and one cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest

from embedsearch.place import Place
from embedsearch.records import Status, Sweep, TrialResult, TrialSpec
from embedsearch.sweep import search
from embedsearch.tracking.guarded import Guarded
from embedsearch.tracking.ledger import StoreLedger
from embedsearch.tracking.store import Store
from embedsearch.tracking.writer import Writer
from tests import waiting
from tests.breakage import Nodes
from tests.tracking.conftest import make_spec
from tests.waiting import ENDS, Fate, fated

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
TRIALS = 200
LOSE = {30: Fate.LOSES_ITS_WORKER, 60: Fate.RAISES, 90: Fate.LOSES_ITS_WORKER_ONCE}
BY_THEMSELVES = (Fate.FAILS, Fate.DIVERGES, Fate.RUNS_OUT_OF_MEMORY)


def sweep_of_failures() -> tuple[Sweep, dict[str, Fate]]:
    ways = cycle(BY_THEMSELVES)
    specs, fates = [], {}
    for number in range(TRIALS):
        fate = LOSE.get(number) or (Fate.FINISHES if number % 3 else next(ways))
        spec = fated(make_spec(0.2 + number / 1000, steps=waiting.REPORTS), fate)
        specs.append(spec)
        fates[spec.id] = fate
    return Sweep("scd", "many", "waiting", tuple(specs)), fates


class Watched(Guarded):
    """Tells the store, and loses a node at the 100th end."""

    def __init__(self, store: Store, nodes: Nodes) -> None:
        super().__init__(store, Writer(store))
        self.nodes, self.ends = nodes, Counter[str]()

    def trial_ended(self, spec: TrialSpec, result: TrialResult) -> None:
        super().trial_ended(spec, result)
        self.ends[spec.id] += 1
        if len(self.ends) == TRIALS // 2:
            self.nodes.go()


def run(specs: Any, sweep: Sweep, held: Mapping[str, TrialResult], observer: Guarded, at: str,
        place: Place) -> Mapping[str, TrialResult]:  # fmt: skip
    cluster = search.Cluster(at, 1, 1.0)
    observer.sweep_started(sweep, held)
    with search.connected(cluster) as resources:
        assert search.trials_at_once(resources, cluster) == 6
        results = {**held, **search.run_trials(specs, place, cluster, observer, run=waiting.run)}
    observer.sweep_ended(sweep, results)
    return results


def test_a_third_of_200_trials_fail(tmp_path: Path) -> None:
    sweep, fates = sweep_of_failures()
    store, place = Store.open(str(tmp_path / "mlruns")), Place(tmp_path / "storage")
    nodes = Nodes()
    try:
        for gpus in (3, 3):
            nodes.come(num_cpus=3, num_gpus=gpus)
        observer = Watched(store, nodes)
        results = run(sweep.specs, sweep, {}, observer, nodes.address, place)
        assert set(observer.ends.values()) == {1}
        check(store, sweep, fates, results)
        held = StoreLedger(store).results(sweep.specs)
        assert {fates[key] for key in held} == {
            Fate.FINISHES, Fate.DIVERGES, Fate.LOSES_ITS_WORKER_ONCE
        }  # fmt: skip
        left = [replace(s, preset="finishes") for s in sweep.specs if s.id not in held]
        nodes.come(num_cpus=3, num_gpus=3)
        results = run(left, sweep, held, Guarded(store, Writer(store)), nodes.address, place)
        tried_again = {s.id: Fate.FINISHES for s in left}
        check(store, sweep, {**fates, **tried_again}, results)
    finally:
        nodes.end()


def check(
    store: Store, sweep: Sweep, fates: Mapping[str, Fate], results: Mapping[str, TrialResult]
) -> None:
    """Each trial ended as it had to, with its score, and has one run; nothing is running."""
    assert {key: result.status for key, result in results.items()} == {
        key: ENDS[fate] for key, fate in fates.items()
    }
    wanted = {s.id: round(100 * float(s.point.values["alpha"]), 3) for s in sweep.specs}  # type: ignore[arg-type]
    finished = {k: r for k, r in results.items() if r.status is Status.FINISHED}
    assert {k: r.best_score for k, r in finished.items()} == {k: wanted[k] for k in finished}
    runs = store.search("scd", kind="trial")
    assert Counter(run.tags["embedsearch.spec_id"] for run in runs) == Counter(list(fates))
    told = {run.tags["embedsearch.spec_id"]: run.tags["embedsearch.status"] for run in runs}
    assert told == {key: str(result.status) for key, result in results.items()}
    assert not store.search("scd", mlflow_status="RUNNING")
