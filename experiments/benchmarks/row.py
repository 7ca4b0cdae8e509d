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
    """The folder of evaluation data; None leaves out what needs one."""
    steps: int = 60
    repeats: int = 5
    threads: int = 2
    device: str = "cpu"
    trials: int = 1000
    """Of ``scale``, each of ``wait`` seconds, on ``gpus`` in name."""
    gpus: int = 64
    wait: float = 10.0

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
