"""One evaluation from its command to its record: embed what is not known, score, write down."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from embedsearch.cli.target import Target
from embedsearch.evaluation import suite
from embedsearch.evaluation.subject import Opened
from embedsearch.evaluation.suite import Chosen, Found, Missing


@dataclass(frozen=True)
class Examination:
    """What was found of one encoder."""

    target: Target
    opened: Opened
    found: tuple[Found, ...]
    missing: tuple[Missing, ...]

    def to_json(self) -> dict[str, Any]:
        """All scores with what they are; a value that is null has its reason."""
        return {
            "target": self.target.run_id or self.target.location,
            "name": self.target.name,
            "encoder": self.opened.said,
            "key": self.opened.key,
            "tasks": [_as_json(item) for item in self.found],
            "averages": {k: asdict(s) for k, s in suite.averages(self.found).items()},
            "missing": [asdict(item) for item in self.missing],
        }

    def numbers(self) -> dict[str, float]:
        """What there is, by task (its headline), by ``task/score`` without those of parts, and
        whole averages."""
        named = {
            f"{item.task.name}/{score.name}": score
            for item in self.found
            for score in item.outcome.scores
            if "/" not in score.name
        }
        named |= {item.task.name: item.score for item in self.found}
        averages = suite.averages(self.found)
        named |= {name: score for name, score in averages.items() if not score.reason}
        return {name: s.value for name, s in named.items() if s.value is not None}

    def origin(self, pooling: str | None) -> tuple[str, str]:
        """The backbone and its corpus: none where the pooling was chosen here, so untrained."""
        return self.target.backbone, self.target.corpus or ("none" if pooling else "not known")


def examine(
    target: Target, opened: Opened, chosen: Sequence[Chosen | Missing], console: Console
) -> Examination:
    """Score what is there, showing how far it is."""
    there = [item for item in chosen if isinstance(item, Chosen)]
    missing = tuple(item for item in chosen if isinstance(item, Missing))
    with _progress(console) as progress:
        bar = progress.add_task("embedding", total=None)
        opened.embeddings.prepare(
            suite.all_texts(there),
            lambda done, total: progress.update(bar, completed=done, total=total),
        )
        bar = progress.add_task("scoring", total=len(there))
        found = []
        for item in suite.run(there, opened.subject):
            found.append(item)
            progress.update(bar, advance=1, description=f"scored {item.task.name}")
            if not console.is_terminal:
                said = f"scored {item.task.name} in {item.seconds:.1f} s"
                console.print(said, soft_wrap=True, markup=False, highlight=False)
    return Examination(target, opened, tuple(found), missing)


def _progress(console: Console) -> Progress:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    shown = console.is_terminal
    return Progress(
        *columns, TimeRemainingColumn(), console=console, disable=not shown, transient=True
    )


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
