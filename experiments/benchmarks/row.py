"""A line of the table, and what all benchmarks are given."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Inputs:
    """On what to measure, and how often."""

    backbone: str | None = None
    corpus: str = "demo"
    dev: str = "demo"
    documents: str = "demo"
    data: str | None = None
    steps: int = 60
    repeats: int = 5
    threads: int = 2
    device: str = "cpu"

    @property
    def backbones(self) -> list[str]:
        return ["nano", *([self.backbone] if self.backbone else [])]


@dataclass(frozen=True)
class Row:
    """One measurement beside its peer's."""

    what: str
    ours: str
    peer: str
    ratio: str
    goal: str

    def line(self) -> str:
        return f"{self.what}: {self.ours} against {self.peer}, {self.ratio} (goal {self.goal})"
