"""Every kind of task, by its name; a new kind is one file here and one entry below."""

from __future__ import annotations

from embedsearch.evaluation.task import Kind
from embedsearch.evaluation.tasks.finetune import FINETUNE
from embedsearch.evaluation.tasks.intent import INTENT
from embedsearch.evaluation.tasks.labels import LABELS
from embedsearch.evaluation.tasks.sts import STS

KINDS: dict[str, Kind] = {kind.name: kind for kind in (STS, INTENT, LABELS, FINETUNE)}
