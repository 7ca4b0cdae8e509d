import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from embedsearch.records import Measurement, Status
from embedsearch.tracking import runs
from embedsearch.tracking.artifacts import Artifacts
from embedsearch.tracking.ledger import StoreLedger
from embedsearch.tracking.store import Store
from embedsearch.tracking.stored import SPEC_ID
from embedsearch.tracking.writer import Writer

from .conftest import make_result, make_spec, make_sweep, python, record, record_scores


def trials(store: Store) -> list[Any]:
    return store.search("scd", kind="trial")


def sweeps(store: Store) -> list[Any]:
    return store.search("scd", kind="sweep")


def test_a_sweep_comes_back(store: Store, checkpoint: Path) -> None:
    good, bad, crashed = make_spec(0.1), make_spec(0.2), make_spec(0.3)
    results = {
        good.id: make_result(good, 61.0, checkpoint=str(checkpoint)),
        bad.id: make_result(bad, None, Status.DIVERGED, reason="NaN in loss at step 3"),
        crashed.id: make_result(crashed, None, Status.OUT_OF_MEMORY, reason="12 GiB wanted"),
    }
    record(Writer(store), make_sweep(good, bad, crashed), results)
    found = StoreLedger(store).results([good, bad, crashed])
    assert set(found) == {good.id, bad.id}, "what ran out of memory is tried again"
    kept = found[good.id]
    assert (kept.start_score, kept.best_score, kept.best_step) == (50.0, 61.0, 20)
    assert (kept.seconds, kept.device_seconds) == (2.0, 2.0)
    assert kept.checkpoint and (Path(kept.checkpoint) / "model.safetensors").exists()
    assert found[bad.id].status is Status.DIVERGED
    assert found[bad.id].reason == "NaN in loss at step 3"
    assert found[bad.id].best_score is None


def test_runs_are_nested_and_described(store: Store) -> None:
    specs = [make_spec(0.1), make_spec(0.2)]
    record_scores(store, *[(spec, 60.0) for spec in specs])
    (sweep,) = sweeps(store)
    assert sweep.status == "FINISHED"
    assert sweep.tags["embedsearch.trials"] == "2 finished"
    members = Artifacts(store, sweep).get_json("sweep.json")
    assert members == {"specs": [s.id for s in specs], "reused": [], "notes": {}}
    run = next(r for r in trials(store) if r.tags[SPEC_ID] == specs[0].id)
    assert run.tags["mlflow.parentRunId"] == sweep.run_id
    assert run.status == "FINISHED"
    assert run.params["alpha"] == "0.1"
    assert run.params["learning_rate"] == "3e-05"
    assert run.params["backbone"] == "nano"
    assert run.params["seed"] == "0"
    assert not {"chunk_size", "ranks"} & run.params.keys()
    curve = store.client.get_metric_history(run.run_id, "dev/spearman")
    assert [(m.step, m.value) for m in curve] == [(0, 50.0), (10, 59.0), (20, 60.0)]
    assert "python" in Artifacts(store, run).get_json("environment.json")
    assert StoreLedger(store).point(run.run_id) == specs[0].point


def test_what_divides_a_batch_is_no_hyperparameter(store: Store) -> None:
    spec = replace(make_spec(0.1), chunk_size=16, ranks=2)
    record_scores(store, (spec, 60.0))
    [run] = trials(store)
    assert (run.params["chunk_size"], run.params["ranks"]) == ("16", "2")
    trial = runs.to_trial(run, None)
    assert trial.values == spec.point.values
    assert trial.division == {"chunk_size": 16, "ranks": 2}


def test_a_run_that_a_server_made_twice_is_there_once(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It made it, went away before it answered, and MLflow's client asked again."""
    once = store.client.create_run

    def twice(*words: Any, **named: Any) -> Any:
        once(*words, **named)
        return once(*words, **named)

    monkeypatch.setattr(store.client, "create_run", twice)
    record_scores(store, (make_spec(0.1), 60.0), (make_spec(0.2), 61.0))
    assert [run.status for run in trials(store)] == ["FINISHED"] * 2


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_what_is_no_number_is_not_written(store: Store, bad: float) -> None:
    spec = make_spec()
    writer = Writer(store)
    writer.sweep_started(make_sweep(spec), {})
    writer.trial_started(spec)
    writer.measured(spec, Measurement(0, {"loss": bad, "map@10": 1.0}))
    result = make_result(spec, bad, history=())
    writer.trial_ended(spec, result)
    writer.sweep_ended(make_sweep(spec), {spec.id: result})
    (run,) = trials(store)
    assert set(run.metrics) == {
        "map_0x40_10", "start/dev_spearman", "seconds", "device_seconds", "best/step"
    }  # fmt: skip
    assert StoreLedger(store).best("scd").entries == ()
    assert sweeps(store)[0].status == "FAILED"


def test_the_same_sweep_again_is_the_same_run(store: Store) -> None:
    specs = [make_spec(0.1), make_spec(0.2)]
    results = {spec.id: make_result(spec, 60.0) for spec in specs}
    sweep = make_sweep(*specs)
    first = Writer(store)
    first.sweep_started(sweep, {})
    first.trial_started(specs[0])
    first.trial_ended(specs[0], results[specs[0].id])
    first.sweep_ended(sweep, {specs[0].id: results[specs[0].id]})
    assert [run.status for run in sweeps(store)] == ["KILLED"]
    held = StoreLedger(store).results(specs)
    second = Writer(store)
    second.sweep_started(sweep, held)
    second.trial_started(specs[1])
    second.trial_ended(specs[1], results[specs[1].id])
    second.sweep_ended(sweep, results)
    assert [run.status for run in sweeps(store)] == ["FINISHED"]
    assert len(trials(store)) == 2


def test_a_trial_that_goes_on_continues_its_run(store: Store) -> None:
    spec = make_spec()
    whole = make_result(spec, 60.0)
    sweep = make_sweep(spec)
    first = Writer(store)
    first.sweep_started(sweep, {})
    first.trial_started(spec)
    for measurement in whole.history[:2]:
        first.measured(spec, measurement)
    cut = make_result(spec, 59.0, Status.INTERRUPTED, history=whole.history[:2])
    first.trial_ended(spec, cut)
    first.sweep_ended(sweep, {spec.id: cut})
    (run,) = trials(store)
    assert run.status == "KILLED"
    assert StoreLedger(store).results([spec]) == {}
    record(Writer(store), sweep, {spec.id: whole})
    (run,) = trials(store)
    assert run.status == "FINISHED"
    for name in run.metrics:
        history = store.client.get_metric_history(run.run_id, name)
        assert max(Counter(m.step for m in history).values()) == 1, name
    curve = store.client.get_metric_history(run.run_id, "dev/spearman")
    assert [m.step for m in curve] == [0, 10, 20]


def test_a_long_value_is_whole_among_the_artifacts(store: Store) -> None:
    spec = make_spec()
    long = type(spec.point)("scd", spec.point.target, {**spec.point.values, "a=b": "x" * 9000})
    spec = type(spec)(**{**vars(spec), "point": long})
    record_scores(store, (spec, 60.0))
    (run,) = trials(store)
    assert len(run.params["a_0x3d_b"]) == 6000
    assert StoreLedger(store).point(run.run_id) == long


def test_a_killed_process_is_mended_by_the_next_sweep(store: Store, tmp_path: Path) -> None:
    code = f"""
import os
from tests.tracking.conftest import make_spec, make_sweep
from embedsearch.tracking.store import Store
from embedsearch.tracking.stored import SPEC_ID
from embedsearch.tracking.writer import Writer
writer = Writer(Store.open({str(tmp_path / "mlruns")!r}))
writer.sweep_started(make_sweep(make_spec(0.1)), {{}})
writer.trial_started(make_spec(0.1))
os._exit(9)
"""
    assert python(code).wait() == 9
    assert [run.status for run in [*sweeps(store), *trials(store)]] == ["RUNNING"] * 2
    assert StoreLedger(store).running([make_spec(0.1)]) == frozenset()
    record_scores(store, (make_spec(0.2), 60.0))
    (killed,) = [r for r in trials(store) if r.tags[SPEC_ID] == make_spec(0.1).id]
    assert killed.status == "KILLED"
    assert killed.tags[runs.STATUS] == "interrupted"
    assert sorted(run.status for run in sweeps(store)) == ["FINISHED", "KILLED"]


def test_a_living_sweep_keeps_its_trials(store: Store) -> None:
    spec = make_spec()
    one, other = Writer(store), Writer(store)
    one.sweep_started(make_sweep(spec), {})
    one.trial_started(spec)
    assert StoreLedger(store).running([spec]) == {spec.id}
    both = make_sweep(spec, make_spec(0.2), grid="fine")
    other.sweep_started(both, {})
    assert [run.status for run in trials(store)] == ["RUNNING"]
    other.trial_started(spec)
    one.trial_ended(spec, make_result(spec, 60.0))
    other.trial_ended(spec, make_result(spec, 60.0))
    (run,) = trials(store)
    assert run.status == "FINISHED"
    history = store.client.get_metric_history(run.run_id, "dev/spearman")
    assert len(history) == 3
    one.sweep_ended(make_sweep(spec), {spec.id: make_result(spec)})
    other.close()


def test_a_reused_trial_joins_the_grid_without_a_run(store: Store) -> None:
    spec = make_spec()
    record_scores(store, (spec, 60.0))
    ledger = StoreLedger(store)
    sweep = make_sweep(spec, grid="fine")
    writer = Writer(store)
    held = ledger.results([spec])
    writer.sweep_started(sweep, held)
    writer.sweep_ended(sweep, held)
    assert len(trials(store)) == 1
    assert ledger.best("scd", grid="fine").entries[0].mean == 60.0
    assert ledger.best("scd", grid="coarse").entries[0].mean == 60.0
    fine = next(r for r in sweeps(store) if r.tags[runs.GRIDS] == "fine")
    assert Artifacts(store, fine).get_json("sweep.json")["reused"] == [spec.id]


def test_closing_leaves_nothing_running(store: Store) -> None:
    with Writer(store) as writer:
        writer.sweep_started(make_sweep(make_spec()), {})
        writer.trial_started(make_spec())
    assert [run.status for run in [*sweeps(store), *trials(store)]] == ["KILLED"] * 2
    assert StoreLedger(store).running([make_spec()]) == frozenset()


def test_the_best_checkpoints_stay(store: Store, checkpoint: Path) -> None:
    scores = {alpha: 50.0 + alpha for alpha in (1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0)}
    specs = {alpha: make_spec(alpha) for alpha in scores}
    other = make_spec(0.1, corpus="wiki")
    results = {
        specs[a].id: make_result(specs[a], s, checkpoint=str(checkpoint)) for a, s in scores.items()
    }
    results[other.id] = make_result(other, 10.0, checkpoint=str(checkpoint))
    record(Writer(store, keep=2), make_sweep(*specs.values(), other), results)
    ledger = StoreLedger(store)
    kept = {spec_id for spec_id, r in ledger.results([*specs.values(), other]).items()
            if r.checkpoint}  # fmt: skip
    assert kept == {specs[7.0].id, specs[6.0].id, other.id}
    assert store.artifacts
    assert len(list(store.artifacts.rglob("model.safetensors"))) == 3
    tags = [run.tags[runs.CHECKPOINT] for run in trials(store)]
    assert Counter(tags) == {"kept": 3, "pruned": 5}


def test_all_checkpoints_stay_when_asked(store: Store, checkpoint: Path) -> None:
    specs = [make_spec(alpha) for alpha in (1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0)]
    results = {s.id: make_result(s, 60.0, checkpoint=str(checkpoint)) for s in specs}
    record(Writer(store, keep=None), make_sweep(*specs), results)
    assert store.artifacts
    assert len(list(store.artifacts.rglob("model.safetensors"))) == 7


def test_notes_are_json(store: Store) -> None:
    spec = make_spec()
    writer = Writer(store)
    writer.sweep_started(make_sweep(spec, grid="fine", left_out=3.0), {})
    (run,) = sweeps(store)
    assert json.loads(run.tags[runs.NOTES]) == {"left_out": 3.0}
    writer.close()
