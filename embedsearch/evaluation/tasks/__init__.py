"""Every kind of task, by its name; a new kind is one file here and one entry below."""

from __future__ import annotations

from embedsearch.evaluation.task import Kind
from embedsearch.evaluation.tasks.sts import STS
from embedsearch.evaluation.tasks.transfer import TRANSFER

KINDS: dict[str, Kind] = {kind.name: kind for kind in (STS, TRANSFER)}
