from dataclasses import replace
from pathlib import Path

import pytest

from embedsearch.errors import UserError
from embedsearch.records import CONFIRM, Status
from embedsearch.tracking import database, runs
from embedsearch.tracking.ledger import StoreLedger
from embedsearch.tracking.store import Store
from embedsearch.tracking.stored import Query, StoredRun
from embedsearch.tracking.writer import Writer

from .conftest import make_result, make_spec, make_sweep, record, record_scores


def test_the_number_of_queries_does_not_grow_with_the_runs(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Query] = []
    whole_read = database.read

    def read(path: Path, query: Query) -> list[StoredRun]:
        asked.append(query)
        return whole_read(path, query)

    def queries(first: int, last: int) -> int:
        specs = [make_spec(0.001 * i) for i in range(last)]
        for spec in specs[first:]:
            tags = {**runs.trial_tags(spec), runs.STATUS: "finished", runs.GRIDS: "coarse"}
            store.client.create_run(experiment, tags=tags)
        asked.clear()
        with monkeypatch.context() as patched:
            patched.setattr("embedsearch.tracking.database.read", read)
            assert len(StoreLedger(store).results(specs)) == last
        return len(asked)

    with store.writing():
        experiment = store.experiment("scd")
    assert queries(0, 3) == queries(3, 60) == 1


def test_the_filters_of_best(store: Store) -> None:
    record_scores(store, (make_spec(0.1), 60.0), (make_spec(0.2), 61.0))
    record_scores(store, (make_spec(0.3), 62.0), grid="fine")
    ledger = StoreLedger(store)
    assert ledger.best("scd").entries[0].mean == 62.0
    assert ledger.best("scd", grid="coarse").entries[0].mean == 61.0
    assert len(ledger.best("scd", top=2).entries) == 2
    assert ledger.best("scd", top=1).points == 3
    assert ledger.best("scd", backbone="nano").entries[0].mean == 62.0
    assert ledger.best("scd", backbone="bert-base-uncased").entries == ()
    assert ledger.best("scd", preset="paper").entries == ()
    assert ledger.best("simcse").entries == ()


def test_similarities_come_back_where_there_are_any(store: Store) -> None:
    kept, bare = make_spec(0.1), make_spec(0.2)
    results = {
        kept.id: make_result(kept, similarities=(0.1, -1.0, 0.123456)),
        bare.id: make_result(bare),
    }
    record(Writer(store), make_sweep(kept, bare), results)
    ledger = StoreLedger(store)
    assert ledger.similarities("scd", [kept.id, bare.id]) == {kept.id: [0.1, -1.0, 0.123456]}
    assert ledger.similarities("scd", []) == {}


def test_a_grids_best_is_confirmed_by_trials_of_no_grid(store: Store) -> None:
    record_scores(store, (make_spec(0.1), 60.0), grid="coarse")
    record_scores(store, (make_spec(0.2), 61.0), grid="fine")
    fresh = [(make_spec(alpha, seed=s), 58.0 + s) for alpha in (0.1, 0.2) for s in (1, 2)]
    record_scores(store, *fresh, grid=CONFIRM)
    ranking = StoreLedger(store).best("scd", grid="coarse", top=9)
    assert [(entry.mean, len(entry.trials)) for entry in ranking.entries] == [(59.5, 3)]


def test_a_trial_knows_what_it_cost_whatever_became_of_it(store: Store) -> None:
    spec = make_spec()
    record(Writer(store), make_sweep(spec), {spec.id: make_result(spec, None, Status.FAILED)})
    [trial] = StoreLedger(store).trials("scd")
    assert (trial.score, trial.device_seconds, trial.spec_id) == (None, 2.0, spec.id)


def test_the_group_of_the_latest_trial_is_shown(store: Store) -> None:
    record_scores(store, (make_spec(0.1), 80.0))
    record_scores(store, (make_spec(0.1, corpus="wiki"), 70.0))
    ledger = StoreLedger(store)
    ranking = ledger.best("scd")
    assert ranking.group and ranking.group.corpus == "wiki"
    assert [(group.corpus, count) for group, count in ranking.others] == [("demo", 1)]


def test_values_come_back_typed(store: Store) -> None:
    spec = make_spec()
    record_scores(store, (spec, 60.0))
    leader = StoreLedger(store).best("scd").entries[0].leader
    assert leader.values == spec.point.values
    assert (leader.seed, leader.group.total_steps) == (0, 20)


def test_a_divided_batch_is_told_beside_the_values(store: Store) -> None:
    spec = make_spec()
    record_scores(store, (spec, 60.0), (replace(spec, seed=1, chunk_size=1), 61.0))
    first, second = StoreLedger(store).best("scd", top=9).entries
    assert first.leader.shown == {**spec.point.values, "chunk_size": 1}
    assert (first.scores, second.scores) == ((61.0,), (60.0,))
    assert second.leader.shown == first.leader.values == spec.point.values


def test_a_diverged_trial_is_never_the_best(store: Store) -> None:
    spec = make_spec()
    record(Writer(store), make_sweep(spec), {spec.id: make_result(spec, 99.0, Status.DIVERGED)})
    ranking = StoreLedger(store).best("scd")
    assert ranking.entries == ()
    assert ranking.unscored == 1


def test_a_point_by_the_beginning_of_its_run_id(store: Store) -> None:
    spec = make_spec()
    record_scores(store, (spec, 60.0))
    ledger = StoreLedger(store)
    run_id = ledger.best("scd").entries[0].leader.run_id
    assert ledger.point(run_id[:6]) == ledger.point(run_id.upper()) == spec.point
    for wrong in ("abc", "not hex", run_id[:5], "'; drop", "000000"):
        with pytest.raises(UserError):
            ledger.point(wrong)


def test_the_centre_of_an_unfinished_sweep(store: Store) -> None:
    ledger = StoreLedger(store)
    spec = make_spec()
    sweep = make_sweep(spec, grid="fine", centre=0.1)
    writer = Writer(store)
    writer.sweep_started(sweep, {})
    writer.sweep_ended(sweep, {})
    assert ledger.sweeps.unfinished("scd", "fine") == [{"centre": 0.1}]
    assert ledger.sweeps.unfinished("scd", "coarse") == []
    record(Writer(store), sweep, {spec.id: make_result(spec)})
    assert ledger.sweeps.unfinished("scd", "fine") == []


def test_seconds_per_step_is_a_median(store: Store) -> None:
    specs = [make_spec(0.1 * i) for i in range(1, 4)]
    results = {s.id: make_result(s, seconds=float(i)) for i, s in enumerate(specs, 1)}
    record(Writer(store), make_sweep(*specs), results)
    assert StoreLedger(store).seconds_per_step("scd") == 2.0 / 20


def test_export(store: Store, checkpoint: Path, tmp_path: Path) -> None:
    spec, bare = make_spec(0.1), make_spec(0.2)
    results = {
        spec.id: make_result(spec, 61.0, checkpoint=str(checkpoint)),
        bare.id: make_result(bare, 60.0),
    }
    record(Writer(store), make_sweep(spec, bare), results)
    ledger = StoreLedger(store)
    first, second = ledger.best("scd", top=2).entries
    ledger.export(first.leader.run_id, tmp_path / "out")
    assert (tmp_path / "out" / "model.safetensors").read_bytes() == b"weights"
    with pytest.raises(UserError, match="new or empty"):
        ledger.export(first.leader.run_id, tmp_path / "out")
    with pytest.raises(UserError, match="not in the store"):
        ledger.export(second.leader.run_id, tmp_path / "other")
