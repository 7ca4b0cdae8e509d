"""Semantic textual similarity: SemEval's STS12 to STS16, STS-B and SICK-R."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from embedsearch.data.counted import counted
from embedsearch.data.pairs import ScoredPairs, joined, read_dev_pairs, read_sick, read_sts_topic
from embedsearch.errors import UserError
from embedsearch.evaluation.sts import PairScore, score_pairs
from embedsearch.evaluation.task import DataSet, Kind, Outcome, Score, Subject

_ALL = "all: Spearman x100 of cosine, pooled over the topics; mean, wmean: of the topics' own"
_TEST = "all: Spearman x100 of cosine on the test split, no regressor"
_SEMEVAL = "SemEval STS {}, as SentEval's data/get_transfer_data.bash lays it out"


@dataclass(frozen=True)
class Similarity:
    """The pairs of a year's topics, or of one test split."""

    name: str
    topics: tuple[ScoredPairs, ...]
    protocol: str

    @property
    def fingerprint(self) -> str:
        return joined(self.name, self.topics).fingerprint

    def texts(self) -> Iterable[str]:
        for topic in self.topics:
            yield from topic.first
            yield from topic.second

    def score(self, subject: Subject) -> Outcome:
        """``all``, and over several topics ``mean``, ``wmean`` (by their pairs) and each.

        Spearman x 100, Pearson beside it; a topic without a correlation has none, and then neither
        have the means.
        """
        pooled = score_pairs(subject.embed, joined(self.name, self.topics))
        scores = _both("all", pooled)
        notes = [counted(len(topic), "pair") for topic in self.topics[:1] if len(self.topics) == 1]
        if len(self.topics) > 1:
            each = {topic.name: score_pairs(subject.embed, topic) for topic in self.topics}
            weights = [len(topic) for topic in self.topics]
            scores += [_mean("mean", each, None), _mean("wmean", each, weights)]
            scores += [s for name, found in each.items() for s in _both(f"topic/{name}", found)]
            notes = [f"{counted(sum(weights), 'pair')} of {len(weights)} topics"]
        unscored = sum(topic.counts.unscored for topic in self.topics)
        notes += [f"{unscored} without a gold score skipped"] if unscored else []
        notes += [counted(pooled.zero_vectors, "zero vector")] if pooled.zero_vectors else []
        return Outcome(tuple(scores), tuple(notes))


def _both(name: str, found: PairScore) -> list[Score]:
    return [
        Score(name, found.spearman, reason=found.reason),
        Score(f"{name}/pearson", found.pearson, reason=found.reason),
    ]


def _mean(name: str, each: dict[str, PairScore], weights: Sequence[int] | None) -> Score:
    values = [found.spearman for found in each.values() if found.spearman is not None]
    if len(values) < len(each):
        lacking = ", ".join(topic for topic, found in each.items() if found.spearman is None)
        return Score(name, None, reason=f"no correlation on {lacking}")
    return Score(name, float(np.average(values, weights=weights)))


def _open(data: DataSet, path: Path) -> Similarity:
    if data.name == "stsb":
        return Similarity(data.name, (read_dev_pairs(path / "sts-test.csv", split="test"),), _TEST)
    if data.name == "sickr":
        return Similarity(data.name, (read_sick(path),), _TEST)
    files = sorted(path.glob("STS.input.*.txt"))
    if not files:
        raise UserError(f"{path}: it holds no STS.input.TOPIC.txt")
    topics = [
        read_sts_topic(file, file.with_name(file.name.replace("input", "gs", 1))) for file in files
    ]
    return Similarity(data.name, tuple(topics), _ALL)


def _own(name: str, files: Sequence[Path]) -> Similarity:
    topics = tuple(read_dev_pairs(file) for file in files)
    for topic, count in Counter(topic.name for topic in topics).items():
        if count > 1:
            raise UserError(f"task '{name}': two topics are called '{topic}': rename a file")
    return Similarity(name, topics, _ALL)


_YEARS = tuple(
    DataSet(f"sts{year}", f"STS/STS{year}-en-test", _SEMEVAL.format(2000 + year))
    for year in range(12, 17)
)

STS = Kind(
    "sts",
    (
        *_YEARS,
        DataSet("stsb", "STS/STSBenchmark", "STS benchmark, ixa2.si.ehu.eus/stswiki"),
        DataSet("sickr", "SICK/SICK_test_annotated.txt", "SICK 2014, SemEval 2014 task 1"),
    ),
    _open,
    _own,
    layout="score TAB sentence TAB sentence in each line; each file is a topic",
    metrics=("all", "mean", "wmean", "all/pearson"),
    averages={
        "avg5": tuple(data.name for data in _YEARS),
        "avg7": (*(data.name for data in _YEARS), "stsb", "sickr"),
    },
)
