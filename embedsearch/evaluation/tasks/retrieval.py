"""Retrieval: does the cosine find a query's documents, and better than BM25 does?"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from embedsearch.data.collection import Collection, read_collection
from embedsearch.errors import UserError
from embedsearch.evaluation.lexical import BM25, LEXICAL
from embedsearch.evaluation.ranking import Floats, measures, ranked_gains
from embedsearch.evaluation.task import DataSet, Kind, Outcome, Score, Subject

METRICS = ("ndcg@10", "mrr@10", "recall@10", "recall@100")

_PROTOCOL = (
    "x100, means over the queries with a relevant document, ranked by cosine (6 decimals) over the "
    "whole collection, of equals the earlier document first; texts cut at the backbone's own "
    "limit, and made of title, space, text (Cranfield: .W, which has the title). ndcg@10: gain "
    "(Cranfield: 5 - grade) / log2(rank + 1); mrr@10, recall: relevant is a gain of 1 or more "
    "(Cranfield: grades 1 to 4); a document that is judged and not there doesn't count. bm25: "
    f"{LEXICAL}; a document without a term of the query is not found"
)


@dataclass(frozen=True)
class Retrieval:
    """A collection, searched by cosine and by BM25."""

    name: str
    collection: Collection
    protocol: str = _PROTOCOL

    @property
    def fingerprint(self) -> str:
        return self.collection.fingerprint

    def texts(self) -> Iterable[str]:
        yield from self.collection.queries
        yield from self.collection.documents

    def score(self, subject: Subject) -> Outcome:
        """The encoder's scores, then those of BM25 under ``bm25/``."""
        queries, documents = (
            _directions(subject.embed(texts))
            for texts in (self.collection.queries, self.collection.documents)
        )
        zeros = sum(int((~side.any(1)).sum()) for side in (queries, documents))
        notes = [*self.collection.notes, *([f"zero vectors: {zeros}"] if zeros else [])]
        if np.isfinite(queries).all() and np.isfinite(documents).all():
            found = self._measures(lambda part: (queries[part] @ documents.T).round(6))
            scores = [Score(name, found[name]) for name in METRICS]
        else:
            scores = [
                Score(name, None, reason="the embeddings hold NaN or infinity") for name in METRICS
            ]
        lexical = [Score(f"bm25/{name}", self._bm25[name]) for name in METRICS]
        return Outcome((*scores, *lexical), tuple(notes))

    @cached_property
    def _bm25(self) -> dict[str, float]:
        index = BM25(self.collection.documents)

        def score(part: slice) -> Floats:
            scores = index.scores(self.collection.queries[part])
            return np.where(scores > 0, scores, -np.inf)

        return self._measures(score)

    def _measures(self, score: Callable[[slice], Floats]) -> dict[str, float]:
        gains = self.collection.gains
        return measures(ranked_gains(score, len(self.collection.documents), gains), gains)


def _directions(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    norms[norms == 0] = 1
    directions: NDArray[np.float32] = vectors / norms
    return directions


def collection_of(files: Sequence[Path]) -> Collection:
    """The collection that a task of the user's own names: one folder."""
    if len(files) != 1:
        raise UserError(f"{len(files)} files are given; a collection is one folder")
    return read_collection(files[0])


RETRIEVAL = Kind(
    "retrieval",
    (DataSet("cranfield", "cranfield", "Cranfield, ir.dcs.gla.ac.uk/resources/test_collections"),),
    lambda data, path: Retrieval(data.name, read_collection(path)),
    lambda name, files: Retrieval(name, collection_of(files)),
    layout=(
        "FOLDER in BEIR's layout: corpus.jsonl, queries.jsonl, qrels/test.tsv (a header; query "
        "TAB document TAB gain); or Cranfield's"
    ),
    metrics=METRICS,
)
