"""Test scores on record: on the run that was evaluated, and as a run of their own."""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from embedsearch.tracking import runs
from embedsearch.tracking.artifacts import Artifacts
from embedsearch.tracking.names import from_name, to_name, to_text
from embedsearch.tracking.store import Store
from embedsearch.tracking.stored import PREFIX, StoredRun

EXPERIMENT = "evaluations"
"""Of the runs that each record one evaluation, beside the methods' experiments."""

_FILE = "evaluation.json"
_DATA = f"{PREFIX}test."
"""Of the tags that say what data a task had."""


class Record:
    """One evaluation's run, which is there from its first task on."""

    def __init__(self, store: Store, trial: str | None) -> None:
        """Where a trial is evaluated, its own run holds scores and tags too."""
        self._store, self._trial = store, trial
        self._run: StoredRun | None = None
        self._kept: set[str] = set()
        self._before: int | None = None
        """Looks at the trial, when this one began."""
        self.tasks = 0
        """How many are kept."""

    @property
    def run_id(self) -> str:
        """Empty while nothing is kept."""
        return self._run.run_id if self._run else ""

    def keep(self, found: Mapping[str, Any], recalled: Collection[str] = ()) -> None:
        """Put on record what an evaluation has ``found`` so far: the whole as JSON, and what is new
        of it as scores, ``test/<task>/<score>``, and as a look at the data of each task but those
        ``recalled``, whose scores were read off a record."""
        numbers = {to_name(n): v for n, v in _numbers(found).items()}
        new = [(name, value) for name, value in numbers.items() if name not in self._kept]
        data = {_data(task["name"]): task["fingerprint"] for task in found["tasks"]}
        looks = {name: of for name, of in data.items() if name not in set(map(_data, recalled))}
        store = self._store
        with store.writing():
            run = self._run = self._run or self._begin(found)
            Artifacts(store, run).put_json(_FILE, found)
            store.log(run.run_id, metrics=[(*each, 0) for each in new], tags=looks)
            store.client.set_terminated(run.run_id)
            if self._trial:
                if self._before is None:
                    self._before = looks_of(store, self._trial)
                look = self._before + bool(looks)
                metrics = [(*each, max(0, look - 1)) for each in new]
                tags = {**data, f"{PREFIX}looks": str(look)}
                store.log(self._trial, metrics=metrics, tags=tags)
        self._kept |= numbers.keys()
        self.tasks = len(found["tasks"])

    def _begin(self, found: Mapping[str, Any]) -> StoredRun:
        store = self._store
        of = {f"{PREFIX}{name}": str(found[name]) for name in ("target", "key", "scoring")}
        made = store.client.create_run(
            store.experiment(EXPERIMENT),
            run_name=found["name"],
            tags={runs.KIND: "evaluation", **of},
        )
        params = {name: to_text(found[name]) for name in ("target", "encoder", "key")}
        store.log(made.info.run_id, params=params)
        return StoredRun.of(made, EXPERIMENT)


def known(
    store: Store, key: str, scoring: int, wanted: Mapping[str, tuple[str, str]]
) -> dict[str, Mapping[str, Any]]:
    """What is on record of ``wanted`` tasks, the latest of each by its name: scores of the encoder
    ``key``, by this version of the ``scoring``, of the same data by the same protocol.

    ``wanted`` has the fingerprint and the protocol of each.
    """
    found: dict[str, Mapping[str, Any]] = {}
    for run in store.search(EXPERIMENT, kind="evaluation", key=key, scoring=str(scoring)):
        lacking = {name for name in wanted.keys() - found.keys() if _data(name) in run.tags}
        for row in _rows(store, run) if lacking else ():
            name, what = row["name"], (row["fingerprint"], row["protocol"])
            if name in lacking and what == wanted[name]:
                found[name] = row
    return found


def illustrate(store: Store, record: str, figures: Sequence[Path]) -> None:
    """Keep figures with an evaluation's run."""
    [run] = store.search(EXPERIMENT, run_id=record)
    with tempfile.TemporaryDirectory() as scratch:
        for figure in figures:
            shutil.copy(figure, scratch)
        Artifacts(store, run).put_folder("figures", Path(scratch))


def looks_of(store: Store, run_id: str) -> int:
    """How often one trial was scored on test sets."""
    return int(store.tags(run_id).get(f"{PREFIX}looks", "0"))


def looks(store: Store) -> Counter[str]:
    """How often each task was scored, over all encoders of the store."""
    seen: Counter[str] = Counter()
    for run in store.search(EXPERIMENT, kind="evaluation"):
        tags = (tag.removeprefix(_DATA) for tag in run.tags if tag.startswith(_DATA))
        seen.update(map(from_name, tags))
    return seen


def _data(task: str) -> str:
    return f"{_DATA}{to_name(task)}"


def _rows(store: Store, run: StoredRun) -> Sequence[Mapping[str, Any]]:
    """The tasks of an evaluation; none where its file is gone or broken."""
    try:
        rows: Sequence[Mapping[str, Any]] = Artifacts(store, run).get_json(_FILE)["tasks"]
    except (OSError, ValueError):
        return ()
    return rows


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
