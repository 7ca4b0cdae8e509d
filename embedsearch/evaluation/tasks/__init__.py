"""Every kind of task, by its name; a new kind is one file here and one entry below."""

from __future__ import annotations

from embedsearch.evaluation.task import Kind
from embedsearch.evaluation.tasks.augmentation import AUGMENTATION
from embedsearch.evaluation.tasks.clustering import CLUSTERING
from embedsearch.evaluation.tasks.expansion import EXPANSION
from embedsearch.evaluation.tasks.finetune import FINETUNE
from embedsearch.evaluation.tasks.geometry import GEOMETRY
from embedsearch.evaluation.tasks.inference import INFERENCE
from embedsearch.evaluation.tasks.intent import INTENT
from embedsearch.evaluation.tasks.labels import LABELS
from embedsearch.evaluation.tasks.map import MAP
from embedsearch.evaluation.tasks.neighbourhood import NEIGHBOURHOOD
from embedsearch.evaluation.tasks.retrieval import RETRIEVAL
from embedsearch.evaluation.tasks.sts import STS
from embedsearch.evaluation.tasks.transfer import TRANSFER

KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (
        STS,
        TRANSFER,
        CLUSTERING,
        INTENT,
        RETRIEVAL,
        LABELS,
        FINETUNE,
        EXPANSION,
        GEOMETRY,
        NEIGHBOURHOOD,
        INFERENCE,
        AUGMENTATION,
        MAP,
    )
}
