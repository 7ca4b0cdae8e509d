"""Test scores on record: on the trial's run, as a run of their own, and counted."""

from __future__ import annotations

import json
from typing import Any

from embedsearch.tracking import evaluations
from embedsearch.tracking.ledger import StoreLedger
from embedsearch.tracking.ranking import Ranking
from embedsearch.tracking.store import Store
from tests.tracking.conftest import make_spec, record_scores


def score(name: str, value: float | None, reason: str = "") -> dict[str, Any]:
    return {"name": name, "value": value, "sd": None, "reason": reason}


def found(*tasks: str, target: str = "nano") -> dict[str, Any]:
    scores = [score("all", 40.0), score("ndcg@10", None, "no query")]
    return {
        "target": target,
        "name": target,
        "encoder": "bert, mean pooling",
        "key": "k" * 16,
        "scoring": 1,
        "tasks": [
            {"name": name, "fingerprint": "f" * 16, "protocol": "cosine", "scores": scores}
            for name in tasks
        ],
        "averages": {
            "avg5": score("avg5", 50.0, "4 of 5, without sts12"),
            "avg7": score("avg7", 60.0),
        },
        "missing": [],
    }


def record(store: Store, told: dict[str, Any], trial: str | None = None) -> None:
    evaluations.Record(store, trial).keep(told)


def best(store: Store) -> Ranking:
    return StoreLedger(store).best("scd")


def test_every_look_is_a_run_and_is_counted(store: Store) -> None:
    record(store, found("sts12", "stsb"))
    record(store, found("stsb", target="other"))
    assert evaluations.looks(store) == {"stsb": 2, "sts12": 1}
    runs = store.search(evaluations.EXPERIMENT)
    assert {run.status for run in runs} == {"FINISHED"}
    [run] = [run for run in runs if run.name == "nano"]
    assert run.metrics == {"test/sts12/all": 40.0, "test/stsb/all": 40.0, "test/avg7": 60.0}
    assert run.tags["embedsearch.test.sts12"] == "f" * 16
    assert store.artifacts
    [file] = store.artifacts.rglob(f"{run.run_id}/artifacts/evaluation.json")
    assert json.loads(file.read_text()) == found("sts12", "stsb")


def test_a_trial_s_run_has_its_test_scores_and_they_rank_nothing(store: Store) -> None:
    record_scores(store, (make_spec(0.1), 61.0), (make_spec(0.2), 60.0))
    [second] = [r for r in store.search("scd", kind="trial") if r.params["alpha"] == "0.2"]
    record(store, found("sts12", target=second.run_id), second.run_id)
    assert evaluations.looks_of(store, second.run_id) == 1
    record(store, found("sts12", target=second.run_id), second.run_id)
    assert evaluations.looks_of(store, second.run_id) == 2
    first = best(store).entries[0].leader
    assert (first.values["alpha"], first.tests) == (0.1, {})
    entries = StoreLedger(store).best("scd", top=2).entries
    assert entries[1].leader.tests == {"sts12/all": 40.0, "avg7": 60.0}


def test_what_is_read_back_is_no_look(store: Store) -> None:
    """But it is on record again, and on the trial's own run, where another name had it scored."""
    record_scores(store, (make_spec(0.1), 61.0))
    [trial] = store.search("scd", kind="trial")
    evaluations.Record(store, None).keep(found("sts12"))
    for looks, tasks in ((0, ["sts12"]), (1, ["sts12", "stsb"])):
        evaluations.Record(store, trial.run_id).keep(found(*tasks), recalled=["sts12", "sickr"])
        assert evaluations.looks_of(store, trial.run_id) == looks
        assert best(store).entries[0].leader.tests["sts12/all"] == 40.0
    assert evaluations.looks(store) == {"sts12": 1, "stsb": 1}
    same = ("f" * 16, "cosine")
    wanted = {"sts12": same, "stsb": same}
    assert evaluations.known(store, "k" * 16, 1, wanted).keys() == wanted.keys()


def test_each_task_goes_on_record_as_it_ends(store: Store) -> None:
    """One run and one look at each, for the trial too, whose scores are all of one step."""
    record_scores(store, (make_spec(0.1), 61.0))
    [trial] = store.search("scd", kind="trial")
    kept = evaluations.Record(store, trial.run_id)
    for tasks in (["sts12"], ["sts12", "stsb"]):
        kept.keep(found(*tasks))
        [run] = store.search(evaluations.EXPERIMENT)
        assert (run.run_id, run.status, kept.tasks) == (kept.run_id, "FINISHED", len(tasks))
        assert evaluations.looks(store) == dict.fromkeys(tasks, 1)
        assert evaluations.looks_of(store, trial.run_id) == 1
        assert {f"test/{name}/all" for name in tasks} <= run.metrics.keys()
    for name in ("test/sts12/all", "test/stsb/all"):
        assert [m.step for m in store.client.get_metric_history(trial.run_id, name)] == [0]


def test_a_task_may_have_any_name(store: Store) -> None:
    name = "map-a@b (1) n\u00e9v"
    record(store, found(name))
    assert evaluations.looks(store) == {name: 1}
    assert list(evaluations.known(store, "k" * 16, 1, {name: ("f" * 16, "cosine")})) == [name]


def test_what_is_known_is_of_the_same_encoder_data_and_protocol(store: Store) -> None:
    record(store, found("sts12", "stsb"))
    same = ("f" * 16, "cosine")
    wanted = {"sts12": same, "stsb": ("0" * 16, "cosine"), "sickr": same}
    told = evaluations.known(store, "k" * 16, 1, wanted)
    assert list(told) == ["sts12"]
    assert told["sts12"]["scores"][0]["value"] == 40.0
    assert not evaluations.known(store, "k" * 16, 1, {"sts12": ("f" * 16, "euclid")})
    assert not evaluations.known(store, "k" * 16, 2, {"sts12": same})
    assert not evaluations.known(store, "l" * 16, 1, {"sts12": same})
    assert store.artifacts
    [file] = store.artifacts.rglob("evaluation.json")
    file.write_text("{")
    assert not evaluations.known(store, "k" * 16, 1, {"sts12": same})
