"""Which tasks are asked for, what of them is there, and what an encoder scores on them."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any

from embedsearch.data.labelled import Remark
from embedsearch.data.layout import find
from embedsearch.document import Text, Where, read_yaml
from embedsearch.errors import UserError
from embedsearch.evaluation.task import Kind, Outcome, Score, Subject, Task
from embedsearch.evaluation.tasks import KINDS

SCORING = 1
"""Version of the tasks; raised when one would score the same embeddings of the same data by the
same protocol differently, so that old scores are not taken for new ones."""

QUICK = ("sts16", "stsb", "sickr", "trec", "snips")
"""Tasks of a minute at most on two cores with the embedded nano; for looks during a sweep."""

_KEYS = ("kind", "files", "metric")
"""Of every ``task.yaml``."""


@dataclass(frozen=True)
class Missing:
    """A task whose data is not there, or can't be used."""

    name: str
    kind: str
    reason: str


@dataclass(frozen=True)
class Found:
    """What an encoder scored on one task."""

    task: Task
    kind: str
    outcome: Outcome
    seconds: float
    headline: str
    """Name of the score that stands for the task."""

    @property
    def score(self) -> Score:
        return next(score for score in self.outcome.scores if score.name == self.headline)


@dataclass(frozen=True)
class Chosen:
    """A task that can run, and the name of its headline (its first score, where none is named)."""

    task: Task
    kind: str
    metric: str | None = None
    remarks: tuple[str, ...] = ()
    """What was odd in its files."""

    def run(self, subject: Subject) -> Found:
        start = time.perf_counter()
        outcome = self.task.score(subject)
        told = replace(outcome, notes=(*outcome.notes, *self.remarks))
        return self.found(told, time.perf_counter() - start)

    def found(self, outcome: Outcome, seconds: float) -> Found:
        headline = self.metric or outcome.scores[0].name
        return Found(self.task, self.kind, outcome, seconds, headline)


def choose(wanted: Sequence[str], data: Path | None) -> list[Chosen | Missing]:
    """The tasks named by ``wanted``, each once, in that order.

    A group (``papers``, ``quick``), a kind (``sts``), a data set (``sts12``), in any case;
    ``KIND:FILE`` for a file of the user's own, or a folder with a ``task.yaml``. Raises
    ``UserError`` for a name that is none of these, with the nearest that is one, and where two
    different tasks would have one name.
    """
    if data and not data.is_dir():
        raise UserError(f"--data {data}: there is no such folder")
    chosen: dict[str, Chosen | Missing] = {}
    for name in filter(None, wanted):
        for found in _choose(name, data):
            key = found.task.name if isinstance(found, Chosen) else found.name
            if _content(chosen.setdefault(key, found)) != _content(found):
                raise UserError(f"two different tasks are called '{key}': rename a file or folder")
    if not chosen:
        raise UserError(f"no task is named{_nearest('')}")
    return list(chosen.values())


def _content(item: Chosen | Missing) -> tuple[str, str]:
    return item.kind, item.task.fingerprint if isinstance(item, Chosen) else ""


def run(chosen: Iterable[Chosen], subject: Subject) -> Iterable[Found]:
    """Score one task after another."""
    return (item.run(subject) for item in chosen)


def averages(found: Sequence[Found]) -> dict[str, Score]:
    """What the field averages, over those of its tasks that have a score.

    One over less than all of them says so in its ``reason``; one over none is left out.
    """
    scores = {item.task.name: item.score.value for item in found}
    scores |= {f"{i.task.name}/{s.name}": s.value for i in found for s in i.outcome.scores}
    means = {}
    for kind in KINDS.values():
        for name, members in kind.averages.items():
            values = [value for m in members if (value := scores.get(m)) is not None]
            lacking = [m.partition("/")[0] for m in members if scores.get(m) is None]
            reason = f"{len(values)} of {len(members)}, without {', '.join(lacking)}"
            if values:
                means[name] = Score(name, fmean(values), reason=reason if lacking else "")
    return means


def _choose(name: str, data: Path | None) -> list[Chosen | Missing]:
    known = name.lower()
    if known == "papers":
        return [_of_group(task, data) for task in _published()]
    if known == "quick":
        return [_of_group(task, data) for task in QUICK]
    if known in KINDS:
        if not KINDS[known].sets:
            raise UserError(f"{known} has no data set of its own: name yours, {known}:FILE")
        return [_of_group(data_set.name, data) for data_set in KINDS[known].sets]
    for kind in KINDS.values():
        for data_set in kind.sets:
            if data_set.name == known:
                path = data and find(data, kind.name, data_set.place)
                if path:
                    return [_opened(kind, partial(kind.open, data_set, path))]
                where = f"no {data_set.place} under {data}" if data else "--data names no folder"
                return [Missing(known, kind.name, f"{where}; get it from {data_set.source}")]
    kind_name, _, file = name.partition(":")
    if file and (own_kind := KINDS.get(kind_name.lower())):
        path = Path(file).expanduser()
        return [_own(own_kind, f"{own_kind.name}-{path.resolve().stem.lower()}", [path])]
    folder = Path(name).expanduser()
    if (folder / "task.yaml").is_file():
        return [_own_folder(folder)]
    if folder.exists():
        raise UserError(f"{name} has no task.yaml: say what it is, KIND:{name} (sts, transfer, …)")
    raise UserError(f"there is no task '{name}'{_nearest(kind_name)}")


def _of_group(name: str, data: Path | None) -> Chosen | Missing:
    """A published task; what is wrong with its data is its own reason, and the others run."""
    try:
        [found] = _choose(name, data)
    except UserError as error:
        kind = next(kind.name for kind in KINDS.values() if name in _names(kind))
        return Missing(name, kind, str(error))
    return found


def _own_folder(folder: Path) -> Chosen:
    """A folder with a ``task.yaml``: kind and files, perhaps a metric and the kind's numbers."""
    table = read_yaml(folder / "task.yaml")
    name, files, metric = (table.get(key) for key in _KEYS)
    if not isinstance(name, Text) or name not in KINDS:
        raise table.where.error(f"kind should be one of {', '.join(KINDS)}")
    kind = KINDS[name]
    known = (*_KEYS, *kind.numbers)
    if unknown := [key for key in table if key not in known]:
        raise table.places[unknown[0]].error(f"a task has {', '.join(known)}")
    names = [files] if isinstance(files, Text) else files
    if not isinstance(names, list) or not names or not all(isinstance(n, Text) for n in names):
        raise table.where.error("files should name a file of the task's folder, or a list of them")
    if metric is not None and metric not in kind.metrics:
        raise table.places["metric"].error(f"{name} has the metrics {', '.join(kind.metrics)}")
    numbers = {
        key: _number(table[key], table.places[key], least)
        for key, least in kind.numbers.items()
        if key in table
    }
    return _own(kind, folder.resolve().name, [folder / part for part in names], metric, **numbers)


def _number(value: Any, where: Where, least: int) -> int:
    if not (isinstance(value, Text) and value.isdecimal() and int(value) >= least):
        raise where.error(f"it should be a whole number, {least} or more")
    return int(value)


def _own(
    kind: Kind, name: str, files: Sequence[Path], metric: str | None = None, **numbers: int
) -> Chosen:
    if kind.own is None:
        raise UserError(f"{kind.name} takes no files of your own")
    if name in _published():
        raise UserError(f"task '{name}' has the name of a published one: rename {files[0]}")
    for file in files:
        if not file.exists():
            raise UserError(f"task '{name}': {file} does not exist")
    return _opened(kind, partial(kind.own, name, files, **numbers), metric)


def _opened(kind: Kind, read: Callable[[], Task], metric: str | None = None) -> Chosen:
    """The task that ``read`` reads, which bears what is to be said of its files."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", Remark)
        task = read()
    remarks = [str(w.message) for w in told if issubclass(w.category, Remark)]
    return Chosen(task, kind.name, metric, tuple(dict.fromkeys(remarks)))


def _names(kind: Kind) -> list[str]:
    return [data_set.name for data_set in kind.sets]


def _published() -> list[str]:
    return [name for kind in KINDS.values() for name in _names(kind)]


def _nearest(name: str) -> str:
    names = ["papers", "quick", *KINDS, *_published()]
    close = get_close_matches(name, names, n=1)
    known = f"did you mean {close[0]}?" if close else f"there are {', '.join(names)}"
    return f"; {known}"


def all_texts(chosen: Iterable[Chosen]) -> Iterable[str]:
    """Everything that the tasks will embed."""
    return (text for item in chosen for text in item.task.texts())
