"""Short text clustering: K-means over embeddings, against the labels people gave."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from embedsearch.data.counted import counted
from embedsearch.data.labelled import LabelledTexts, collect, read_table
from embedsearch.evaluation.kmeans import KMEANS, distinct, flaw, kmeans
from embedsearch.evaluation.task import DataSet, Kind, Outcome, Score, Subject

SEEDS = range(10)
METRICS = ("accuracy", "nmi", "ari")

_PROTOCOL = (
    f"accuracy x100 under the best one-to-one assignment, NMI and ARI x100 beside it: {KMEANS} on "
    f"the embeddings as they are, as many clusters as labels; mean and sd over seeds 0 to "
    f"{SEEDS[-1]}"
)


@dataclass(frozen=True)
class Clustering:
    """Texts and labels, to be found again by K-means.

    VaSCL (section 4.1) says K-means, and accuracy averaged over 10 independent runs. The rest is
    as in its authors' code: scikit-learn's K-means, seeds 0 to 9, the 10 starts a run that were
    its default then (of one start the accuracy is lower as a rule, and its sd larger), and
    embeddings that are not normalised.
    """

    name: str
    data: LabelledTexts
    protocol: str = _PROTOCOL

    @property
    def fingerprint(self) -> str:
        return self.data.fingerprint

    def texts(self) -> Iterable[str]:
        return self.data.texts

    def score(self, subject: Subject) -> Outcome:
        """``accuracy``, ``nmi`` and ``ari``, each x100; none where they'd be the same for any
        embeddings (one label) or any labels (one embedding)."""
        gold = _numbered(self.data.labels)
        clusters = int(gold.max()) + 1
        sizes = f"{counted(len(self.data), 'text')}, {counted(clusters, 'label')}"
        notes = [sizes, *_oddities(self.data)]
        embeddings = subject.embed(self.data.texts)
        reason = "all texts have the same label" if clusters == 1 else flaw(embeddings)
        if reason:
            return Outcome(tuple(Score(m, None, reason=reason) for m in METRICS), tuple(notes))
        differ = distinct(embeddings)
        notes += [f"{differ} clusters: no more embeddings differ"] if differ < clusters else []
        runs = np.array(
            [agreement(gold, found) for found in kmeans(embeddings, clusters, SEEDS)]
        )  # (seeds, metrics)
        means, spreads = runs.mean(axis=0), runs.std(axis=0, ddof=1)
        scores = (
            Score(metric, float(mean), float(sd))
            for metric, mean, sd in zip(METRICS, means, spreads, strict=True)
        )
        return Outcome(tuple(scores), tuple(notes))


def agreement(gold: NDArray[np.int64], found: NDArray[np.int32]) -> tuple[float, float, float]:
    """Accuracy under the best one-to-one assignment, NMI and ARI, x100; (texts,) numbers each.

    The assignment maximises how many texts are in the cluster of their label; where clusters and
    labels are not equally many, some are left alone. NMI is over the arithmetic mean of entropies.
    """
    from scipy.optimize import linear_sum_assignment
    from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score
    from sklearn.metrics.cluster import contingency_matrix

    counts = contingency_matrix(gold, found)  # (labels, clusters)
    right = counts[linear_sum_assignment(counts, maximize=True)].sum()
    nmi, ari = normalized_mutual_info_score(gold, found), adjusted_rand_score(gold, found)
    return 100 * float(right) / len(gold), 100 * float(nmi), 100 * float(ari)


def _numbered(labels: Sequence[str]) -> NDArray[np.int64]:
    """Labels as 0, 1, … by their first appearance: what they are called is of no account."""
    numbers = {label: number for number, label in enumerate(dict.fromkeys(labels))}
    return np.array([numbers[label] for label in labels])


def _oddities(data: LabelledTexts) -> list[str]:
    told = {"blank": data.counts.blank, "repeated": len(data) - len(set(data.texts))}
    return [f"{count} {what}" for what, count in told.items() if count]


def _read(name: str, files: Sequence[Path]) -> Clustering:
    """One or more files, a label and a text in each line with a tab between them."""
    rows = chain.from_iterable(read_table(file, "first") for file in files)
    return Clustering(name, collect(name, files[0], rows))


_RAKIB = "Rakib et al. 2020, github.com/rashadulrakib/short-text-clustering-enhancement"
_FILES = ("AgNews", "SearchSnippets", "StackOverflow", "Biomedical", "Tweet", "GoogleNews")
_SETS = tuple(
    DataSet(file.lower(), f"{file}.tsv", f"{_RAKIB}, as lines of label, tab, text")
    for file in _FILES
)

CLUSTERING = Kind(
    "clustering",
    _SETS,
    lambda data, path: _read(data.name, [path]),
    _read,
    layout="label TAB text in each line",
    metrics=METRICS,
    averages={"clustering_avg": tuple(data.name for data in _SETS)},
)
