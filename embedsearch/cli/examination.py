"""One evaluation: embed and score what is not known of a target, and put it on record."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from embedsearch.cli.target import Target, find_target
from embedsearch.errors import UserError
from embedsearch.evaluation import suite
from embedsearch.evaluation.subject import Opened, open_subject
from embedsearch.evaluation.suite import Chosen, Found, Missing
from embedsearch.evaluation.task import Outcome, Score
from embedsearch.labels import count
from embedsearch.report.against import against
from embedsearch.report.figures.album import Arrays, Page, draw_album
from embedsearch.report.printed import load_printed
from embedsearch.tracking import evaluations
from embedsearch.tracking.store import Store

Rows = Mapping[str, Mapping[str, Any]]
"""Tasks as their records have them, by name."""


@dataclass(frozen=True)
class Examined:
    """What one encoder scored."""

    found: dict[str, Any]
    """All scores with what they are, a value that is null with its reason."""
    arrays: Arrays
    """By task, what its figure is drawn from."""
    record: str
    """The run of the evaluation; empty where nothing could be put on record."""
    failure: UserError | None
    """Why not all of it is on record."""


@dataclass(frozen=True)
class Candidate:
    """An encoder to be evaluated."""

    target: Target
    opened: Opened

    @property
    def trial(self) -> str | None:
        """The run whose own encoder it is."""
        return self.target.run_id if self.opened.is_own else None

    @property
    def corpus(self) -> str:
        """What it was trained on: nothing where its pooling is chosen here."""
        return self.target.corpus or ("not known" if self.opened.is_own else "none")


class Examiner:
    """Scores candidates on the same tasks. Raises ``UserError`` where none of them can run."""

    def __init__(
        self,
        store: Store,
        tasks: Sequence[str],
        data: Path | None,
        paper: str | None = None,
        figures: bool = False,
    ) -> None:
        """``paper``: whose printed numbers stand beside the measured ones. ``figures``: they will
        be drawn, so what they are drawn from is computed again, for no record has it."""
        if paper:
            load_printed(paper)  # a misspelt one before anything is read
        self._store, self._paper, self._figures = store, paper, figures
        chosen = suite.choose(tasks, data)
        self._tasks = [item for item in chosen if isinstance(item, Chosen)]
        self._missing = [item for item in chosen if isinstance(item, Missing)]
        if not self._tasks:
            why = f": {self._missing[0].name}: {self._missing[0].reason}" if self._missing else ""
            raise UserError(f"no task can run{why}")

    def open(self, name: str, pooling: str | None, device: str, precision: str) -> Candidate:
        """What ``name`` points at; ``UserError`` where it is nothing that can be evaluated."""
        target = find_target(name, self._store)
        folder = self._store.storage / "embeddings"
        opened = open_subject(
            target.location, pooling, device=device, precision=precision, cache_folder=folder
        )
        return Candidate(target, opened)

    def examine(self, candidate: Candidate, console: Console) -> Examined:
        """Score what can run, and put each task on record as it ends.

        What is on record already is not scored again. Where the record takes no more (a full
        disk), the others are scored all the same.
        """
        record, failure = evaluations.Record(self._store, candidate.trial), None
        scored: list[Found] = []
        known = self._known(candidate)
        try:
            for item in self._scored(candidate, known, console):
                scored.append(item)
                if failure is None:
                    failure = self._keep(record, self._found(candidate, scored), known)
        except KeyboardInterrupt:
            said = f"stopped: {record.tasks} of {count(len(self._tasks), 'task')} on record"
            console.print(f"{said}; the same command goes on from there", highlight=False)
            raise
        found = self._found(candidate, scored)
        if self._paper:
            numbers = _numbers(scored, suite.averages(scored))
            backbone = candidate.target.backbone
            found["against"] = against(self._paper, numbers, backbone, candidate.corpus).to_json()
        arrays = {item.task.name: item.outcome.arrays for item in scored}
        return Examined(found, arrays, record.run_id, failure)

    def draw(self, examined: Sequence[Examined], folder: Path) -> list[Path]:
        """Write what there is to see of them to ``folder``, and keep it with their records."""
        names = [one.found["name"] for one in examined]
        pages = [
            Page(
                name if names.count(name) == 1 else f"{name} {one.record[:6]}",
                one.found,
                one.arrays,
            )
            for name, one in zip(names, examined, strict=True)
        ]
        drawn = draw_album(pages, folder)
        for one in examined if drawn else ():
            evaluations.illustrate(self._store, one.record, drawn)
        return drawn

    def _scored(self, candidate: Candidate, known: Rows, console: Console) -> Iterator[Found]:
        opened = candidate.opened
        texts = list(suite.all_texts(t for t in self._tasks if t.task.name not in known))
        if missing := opened.embeddings.missing(texts):
            console.print(
                f"embedding {count(missing, 'text')}, the others are known", highlight=False
            )
        with _progress(console) as progress:
            bar = progress.add_task("embedding", total=None)
            opened.embeddings.prepare(
                texts, lambda done, total: progress.update(bar, completed=done, total=total)
            )
            bar = progress.add_task("scoring", total=len(self._tasks))
            for item in self._tasks:
                if row := known.get(item.task.name):
                    yield _recalled(item, row)
                    said = f"{item.task.name} is on record"
                else:
                    found = item.run(opened.subject)
                    yield found
                    said = f"scored {item.task.name} in {found.seconds:.1f} s"
                progress.update(bar, advance=1, description=said)
                if not console.is_terminal:
                    console.print(said, soft_wrap=True, markup=False, highlight=False)

    def _known(self, candidate: Candidate) -> Rows:
        wanted = {t.task.name: (t.task.fingerprint, t.task.protocol) for t in self._tasks}
        rows = evaluations.known(self._store, candidate.opened.key, suite.SCORING, wanted)
        return {name: row for name, row in rows.items() if not (self._figures and row["arrays"])}

    def _keep(
        self, record: evaluations.Record, found: Mapping[str, Any], known: Rows
    ) -> UserError | None:
        """Put on record what is found; gives why that can't be."""
        try:
            with self._store.explained("write"):
                record.keep(found, known)
        except UserError as error:
            return error
        return None

    def _found(self, candidate: Candidate, scored: Sequence[Found]) -> dict[str, Any]:
        return {
            "target": candidate.target.run_id or candidate.target.location,
            "name": candidate.target.name,
            "encoder": candidate.opened.said,
            "key": candidate.opened.key,
            "scoring": suite.SCORING,
            "tasks": [_as_json(item) for item in scored],
            "averages": {name: asdict(score) for name, score in suite.averages(scored).items()},
            "missing": [asdict(item) for item in self._missing],
        }


def _recalled(item: Chosen, row: Mapping[str, Any]) -> Found:
    """A task as its record has it."""
    scores = tuple(Score(**score) for score in row["scores"])
    return item.found(Outcome(scores, tuple(row["notes"])), row["seconds"])


def _progress(console: Console) -> Progress:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    shown = console.is_terminal
    return Progress(
        *columns, TimeRemainingColumn(), console=console, disable=not shown, transient=True
    )


def _numbers(scored: Sequence[Found], averages: dict[str, Score]) -> dict[str, float]:
    """What there is by task (its headline), by ``task/score`` without those of parts, and whole
    averages: the names of the papers' columns."""
    named = {
        f"{item.task.name}/{score.name}": score
        for item in scored
        for score in item.outcome.scores
        if "/" not in score.name
    }
    named |= {item.task.name: item.score for item in scored}
    named |= {name: score for name, score in averages.items() if not score.reason}
    return {name: score.value for name, score in named.items() if score.value is not None}


def _as_json(item: Found) -> dict[str, Any]:
    return {
        "name": item.task.name,
        "kind": item.kind,
        "protocol": item.task.protocol,
        "headline": item.headline,
        "fingerprint": item.task.fingerprint,
        "seconds": round(item.seconds, 2),
        "scores": [asdict(score) for score in item.outcome.scores],
        "notes": list(item.outcome.notes),
        "arrays": sorted(item.outcome.arrays),
    }
