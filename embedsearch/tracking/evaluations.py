"""Test scores on record: on the run that was evaluated, and as a run of their own."""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from embedsearch.tracking import runs
from embedsearch.tracking.artifacts import Artifacts
from embedsearch.tracking.names import to_name, to_text
from embedsearch.tracking.store import Store
from embedsearch.tracking.stored import PREFIX, StoredRun

EXPERIMENT = "evaluations"
"""Of the runs that each record one evaluation, beside the methods' experiments."""

_DATA = f"{PREFIX}test."
"""Of the tags that say what data a task had."""


def record(store: Store, found: Mapping[str, Any], run_id: str | None) -> str:
    """Keep an evaluation: scores as ``test/<task>/<score>``, by what data (a tag for each task),
    and the whole as JSON. Gives the id of its run.

    Where a trial was evaluated (``run_id``), its own run holds scores and tags too.
    """
    metrics = [(to_name(name), value, 0) for name, value in _numbers(found).items()]
    data = {f"{_DATA}{t['name']}": t["fingerprint"] for t in found["tasks"]}
    tags = {runs.KIND: "evaluation", f"{PREFIX}target": found["target"], **data}
    params = {"target": found["target"], "encoder": found["encoder"], "key": found["key"]}
    with store.writing():
        experiment = store.experiment(EXPERIMENT)
        made = store.client.create_run(experiment, run_name=found["name"], tags=tags)
        run = StoredRun.of(made, EXPERIMENT)
        Artifacts(store, run).put_json("evaluation.json", found)
        params = {key: to_text(value) for key, value in params.items()}
        store.log(run.run_id, metrics=metrics, params=params)
        store.client.set_terminated(run.run_id)
        if run_id:
            step = looks_of(store, run_id)
            store.log(run_id, metrics=[(name, value, step) for name, value, _ in metrics])
            store.log(run_id, tags={**data, f"{PREFIX}looks": str(step + 1)})
    return run.run_id


def illustrate(store: Store, record: str, figures: Sequence[Path]) -> None:
    """Keep figures with an evaluation's run."""
    [run] = store.search(EXPERIMENT, run_id=record)
    with tempfile.TemporaryDirectory() as scratch:
        for figure in figures:
            shutil.copy(figure, scratch)
        Artifacts(store, run).put_folder("figures", Path(scratch))


def looks_of(store: Store, run_id: str) -> int:
    """How many evaluations of one trial are on record."""
    return int(store.tags(run_id).get(f"{PREFIX}looks", "0"))


def looks(store: Store) -> Counter[str]:
    """How often each task was looked at, over all encoders of the store."""
    seen: Counter[str] = Counter()
    for run in store.search(EXPERIMENT, kind="evaluation"):
        seen.update({name.removeprefix(_DATA) for name in run.tags if _is_data(name)})
    return seen


def _is_data(tag: str) -> bool:
    return tag.startswith(_DATA)


def _numbers(found: Mapping[str, Any]) -> dict[str, float]:
    """Every score there is; an average only where nothing lacks of it."""
    numbers = {
        f"{runs.TEST}/{task['name']}/{score['name']}": score["value"]
        for task in found["tasks"]
        for score in task["scores"]
    }
    numbers |= {
        f"{runs.TEST}/{name}": score["value"]
        for name, score in found["averages"].items()
        if not score["reason"]
    }
    return runs.finite(numbers)
