"""What a task is: one data set under one protocol, and what it finds of an encoder."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from embedsearch.encoder.model import Encoder

Embed = Callable[[Sequence[str]], NDArray[np.float32]]
"""Texts in, (texts, dim) out, in their order; a text that was asked for before costs nothing."""


@dataclass(frozen=True)
class Subject:
    """What is evaluated. Most tasks need its embeddings alone, which may all be known already."""

    embed: Embed
    encoder: Callable[[], Encoder]
    """Loads it at the first call, for a task that trains or needs more than embeddings."""


@dataclass(frozen=True)
class Score:
    """One number, named within its task."""

    name: str
    """``all``, ``accuracy``, ``5-shot``, ``topic/headlines``: one number of the task's protocol."""
    value: float | None
    """Times 100 where the field prints it so; None for a ``reason``."""
    sd: float | None = None
    """Over the seeds or splits that the protocol names; None where there is one."""
    reason: str = ""
    """Why there is no value, or of what the value is less than it should be; else empty."""


@dataclass(frozen=True)
class Outcome:
    """What one task found: its headline first, and what a reader should know beside it."""

    scores: tuple[Score, ...]
    notes: tuple[str, ...] = ()
    """Counts and what was left out, each in a few words."""
    arrays: Mapping[str, NDArray[np.generic]] = field(default_factory=dict)
    """What a figure is drawn from."""


class Task(Protocol):
    """One data set, read and checked, under one protocol."""

    @property
    def name(self) -> str:
        """Lower case, unique among all tasks: ``sts12``, ``cr``; own: ``KIND-FILE`` or folder."""

    @property
    def protocol(self) -> str:
        """What its numbers are, in one line."""

    @property
    def fingerprint(self) -> str:
        """Sixteen hex digits of the data's content."""

    def texts(self) -> Iterable[str]:
        """All that will be embedded, duplicates as they come."""

    def score(self, subject: Subject) -> Outcome: ...


@dataclass(frozen=True)
class DataSet:
    """A published data set of a kind: where it lies in the field's layout and where it is from."""

    name: str
    place: str
    """Its file or folder, within SentEval's ``downstream`` or the kind's own folder."""
    source: str
    """Where to get it."""


@dataclass(frozen=True)
class Kind:
    """One kind of task, over as many data sets as there are."""

    name: str
    sets: tuple[DataSet, ...]
    """In the order of the papers' columns."""
    open: Callable[[DataSet, Path], Task]
    """Reads the set found at a path; ``UserError`` for what is wrong in it."""
    own: Callable[..., Task] | None = None
    """Of a name, the user's own files (a sequence of paths) and ``numbers``, a task; None where the
    kind takes none."""
    layout: str = ""
    """What such files hold, in one line."""
    numbers: Mapping[str, int] = field(default_factory=dict)
    """What else a ``task.yaml`` may say, with the least it may be."""
    metrics: tuple[str, ...] = ()
    """Which of its scores may be an own task's headline; the first is."""
    averages: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Means over several sets, by what the field calls them: of their headlines (``sts12``), or of
    a score that is named (``snips/10-shot``)."""
