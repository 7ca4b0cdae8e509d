"""A map of texts: their embeddings laid out in the plane, and the clusters among them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from embedsearch.data.counted import counted
from embedsearch.data.labelled import read_field_lines
from embedsearch.data.sentences import Cleaner
from embedsearch.errors import UserError
from embedsearch.evaluation.kmeans import KMEANS, distinct, flaw, kmeans, single_threaded
from embedsearch.evaluation.task import Kind, Outcome, Score, Subject

CLUSTERS = 10
TEXTS = 2_000
SEED = 0
PERPLEXITY = 30
METRICS = ("silhouette", "map/silhouette", "map/trustworthiness", "map/kl")

_NEIGHBOURS = 5
_PROTOCOL = (
    f"silhouette (-1 to 1, not x100) of {{}} clusters: {KMEANS}; map/…: of a t-SNE of them "
    f"(perplexity {PERPLEXITY}, from PCA, 1,000 iterations); both on unit vectors, seed {SEED}"
)


@dataclass(frozen=True)
class Map:
    """Texts to be laid out as InforMin-CL does in Figure 2.

    The paper shows 2,000 IMDB sentences by t-SNE, coloured by 10 clusters of K-means, to say that
    similar sentences come to lie together. It prints no number, perplexity or metric: distances
    are between unit vectors here, as in STS; the numbers are ours, to say what a look can't.
    """

    name: str
    chosen: tuple[str, ...]
    notes: tuple[str, ...] = ()
    clusters: int = CLUSTERS

    @property
    def protocol(self) -> str:
        return _PROTOCOL.format(self.clusters)

    @property
    def fingerprint(self) -> str:
        return hashlib.sha256("\0".join(self.chosen).encode()).hexdigest()[:16]

    def texts(self) -> Iterable[str]:
        return self.chosen

    def score(self, subject: Subject) -> Outcome:
        """How far apart the clusters are among the embeddings (``silhouette``) and on the map
        (``map/silhouette``); how well the map keeps neighbours, of 1 (``map/trustworthiness``);
        what t-SNE minimised (``map/kl``).

        Arrays ``x``, ``y`` and ``cluster``, (texts,) each, are the map; cluster 0 is the largest.
        There are neither scores nor a map where too few embeddings differ.
        """
        embeddings = subject.embed(self.chosen)
        norms = np.linalg.norm(embeddings, axis=1, keepdims=True)
        with np.errstate(invalid="ignore"):  # infinite by infinite: told below
            units = (embeddings / np.where(norms == 0, 1, norms)).astype(np.float32)
        zeros = int((norms == 0).sum())
        notes = (*self.notes, *([counted(zeros, "zero vector")] if zeros else []))
        least = max(self.clusters, 2 * _NEIGHBOURS) + 1
        reason = flaw(units)
        if not reason and (differ := distinct(units)) < least:
            reason = f"{differ} embeddings differ; a map takes {least} at least"
        if reason:
            return Outcome(tuple(Score(m, None, reason=reason) for m in METRICS), notes)
        found = by_size(kmeans(units, self.clusters, [SEED])[0])
        plane, measures = _lay_out(units, found)
        scores = tuple(Score(m, value) for m, value in zip(METRICS, measures, strict=True))
        return Outcome(scores, notes, {"x": plane[:, 0], "y": plane[:, 1], "cluster": found})


def by_size(clusters: NDArray[np.int32]) -> NDArray[np.int64]:
    """The same clusters, numbered by their size from the largest, of equal ones the first met."""
    _, first, numbers, sizes = np.unique(
        clusters, return_index=True, return_inverse=True, return_counts=True
    )
    rank = np.empty(len(sizes), dtype=np.int64)
    rank[np.lexsort((first, -sizes))] = np.arange(len(sizes))
    return rank[numbers]


def _lay_out(
    units: NDArray[np.float32], clusters: NDArray[np.int64]
) -> tuple[NDArray[np.float32], tuple[float, ...]]:
    """The map, (texts, 2), and the values of ``METRICS``."""
    from sklearn.manifold import TSNE, trustworthiness
    from sklearn.metrics import silhouette_score

    perplexity = min(PERPLEXITY, (len(units) - 1) / 3)
    tsne = TSNE(perplexity=perplexity, init="pca", max_iter=1_000, random_state=SEED)
    with single_threaded():
        plane: NDArray[np.float32] = tsne.fit_transform(units)
        measures = (
            silhouette_score(units, clusters),
            silhouette_score(plane, clusters),
            trustworthiness(units, plane, n_neighbors=_NEIGHBOURS),
            tsne.kl_divergence_,
        )
    return plane, tuple(float(value) for value in measures)


def _own(name: str, files: Sequence[Path], clusters: int = CLUSTERS) -> Map:
    """The texts of one or more files, a text in each line, or a sample of them."""
    clean = Cleaner()
    lines = (line for file in files for line in read_field_lines(file))
    texts = [text for line in lines if (text := clean(" ".join(line.split())))]
    if not texts:
        raise UserError(f"{files[0]}: there is no text in it; give a file that has some")
    notes = [counted(len(texts), "text")]
    if len(texts) > TEXTS:
        rows = np.random.default_rng(SEED).choice(len(texts), TEXTS, replace=False)
        texts = [texts[row] for row in sorted(rows)]
        notes = [f"{TEXTS} of {clean.counts.kept} texts, sampled with seed {SEED}"]
    notes += [f"{clean.counts.blank} blank skipped"] if clean.counts.blank else []
    return Map(name, tuple(texts), tuple(notes), clusters)


MAP = Kind(
    "map",
    (),
    lambda data, path: _own(data.name, [path]),
    _own,
    layout="a text in each line",
    metrics=METRICS,
    numbers={"clusters": 2},
)
