"""One evaluation from its target to its record: embed what is not known, score, write down."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from embedsearch.cli.target import Target, find_target
from embedsearch.errors import UserError
from embedsearch.evaluation import suite
from embedsearch.evaluation.subject import Opened, open_subject
from embedsearch.evaluation.suite import Chosen, Found, Missing
from embedsearch.evaluation.task import Score
from embedsearch.report.against import against
from embedsearch.report.figures.album import Arrays, Page, draw_album
from embedsearch.report.printed import load_printed
from embedsearch.tracking import evaluations
from embedsearch.tracking.store import Store


@dataclass(frozen=True)
class Examined:
    """What one encoder scored."""

    found: dict[str, Any]
    """All scores with what they are, a value that is null with its reason."""
    arrays: Arrays
    """By task, what its figure is drawn from."""
    record: str = ""
    """The run of the evaluation, once it is on record."""


@dataclass(frozen=True)
class Candidate:
    """An encoder to be evaluated."""

    target: Target
    opened: Opened

    @property
    def corpus(self) -> str:
        """What it was trained on: nothing where its pooling is chosen here."""
        return self.target.corpus or ("not known" if self.opened.is_own else "none")


class Examiner:
    """Scores candidates on the same tasks. Raises ``UserError`` where none of them can run."""

    def __init__(
        self, store: Store, tasks: Sequence[str], data: Path | None, paper: str | None = None
    ) -> None:
        """``paper``: whose printed numbers stand beside the measured ones."""
        if paper:
            load_printed(paper)  # a misspelt one before anything is read
        self._store, self._paper = store, paper
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
        """Score what can run."""
        scored = self._scored(candidate, console)
        averages = suite.averages(scored)
        found = {
            "target": candidate.target.run_id or candidate.target.location,
            "name": candidate.target.name,
            "encoder": candidate.opened.said,
            "key": candidate.opened.key,
            "tasks": [_as_json(item) for item in scored],
            "averages": {name: asdict(score) for name, score in averages.items()},
            "missing": [asdict(item) for item in self._missing],
        }
        if self._paper:
            numbers = _numbers(scored, averages)
            backbone = candidate.target.backbone
            found["against"] = against(self._paper, numbers, backbone, candidate.corpus).to_json()
        return Examined(found, {item.task.name: item.outcome.arrays for item in scored})

    def put_on_record(self, candidate: Candidate, scored: Examined) -> Examined:
        """In the store; on a trial's own run what its own encoder scored."""
        trial = candidate.target.run_id if candidate.opened.is_own else None
        return replace(scored, record=evaluations.record(self._store, scored.found, trial))

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

    def _scored(self, candidate: Candidate, console: Console) -> list[Found]:
        opened, scored = candidate.opened, []
        with _progress(console) as progress:
            bar = progress.add_task("embedding", total=None)
            opened.embeddings.prepare(
                suite.all_texts(self._tasks),
                lambda done, total: progress.update(bar, completed=done, total=total),
            )
            bar = progress.add_task("scoring", total=len(self._tasks))
            for item in suite.run(self._tasks, opened.subject):
                scored.append(item)
                said = f"scored {item.task.name} in {item.seconds:.1f} s"
                progress.update(bar, advance=1, description=said)
                if not console.is_terminal:
                    console.print(said, soft_wrap=True, markup=False, highlight=False)
        return scored


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
    }
