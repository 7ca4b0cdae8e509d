"""How near does a text stay to its explicit augmentations? (VaSCL, Figure 3b.)"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from operator import eq
from pathlib import Path
from random import Random
from typing import get_args

import numpy as np

from embedsearch.data.augment import Kind as Rewriting
from embedsearch.data.augment import rewriter, wordnet
from embedsearch.data.counted import counted
from embedsearch.data.labelled import read_field_lines
from embedsearch.data.pairs import read_dev_pairs
from embedsearch.encoder import backbone
from embedsearch.errors import UserError
from embedsearch.evaluation.directions import NOT_FINITE, directions, distances
from embedsearch.evaluation.task import DataSet, Kind, Outcome, Score, Subject
from embedsearch.records import Source, content_id

RATES = (0.05, 0.10, 0.20)
"""VaSCL's three strengths: the share of a text's words that change, but at least one."""

MODEL = "roberta-base"
"""The masked language model of ``ctxt``, where the hub's local cache has it."""

SEED = 0
_MOST = 1_000
_PROTOCOL = (
    "mean cosine of a text and its augmentation, {} distinct sentences{} (seed 0); @5, @10, @20: "
    "% of their words changed, at least one; wdel deletes, wnet takes WordNet's synonyms, ctxt a "
    "masked language model's words"
)


@dataclass(frozen=True)
class Rewritten:
    """Texts, and what rewrites them; a reason stands for what is not there."""

    name: str
    originals: tuple[str, ...]
    sources: Mapping[Rewriting, Source | str]
    protocol: str

    @property
    def fingerprint(self) -> str:
        there = [[k, s.fingerprint] for k, s in self.sources.items() if isinstance(s, Source)]
        return content_id([self.originals, there])

    @cached_property
    def versions(self) -> Mapping[str, tuple[str, ...]]:
        """All originals again, by kind and rate (``wdel@5``); each hangs on its number alone."""
        made = {}
        for kind, source in self.sources.items():
            if isinstance(source, str):
                continue
            rewrite = rewriter(kind, source, "cpu")
            for rate in RATES:
                randoms = [Random(f"{SEED}/{row}") for row in range(len(self.originals))]
                made[_name(kind, rate)] = tuple(rewrite(self.originals, rate, randoms))
        return made

    def texts(self) -> Iterable[str]:
        return chain(self.originals, *self.versions.values())

    def score(self, subject: Subject) -> Outcome:
        """The mean cosine of each kind at each rate; texts that could not be changed count too."""
        base, zeros = directions(subject.embed(self.originals))
        scores, notes = [], [counted(zeros, "zero vector")] if zeros else []
        for kind, source in self.sources.items():
            names = [_name(kind, rate) for rate in RATES]
            if isinstance(source, str):
                scores += [Score(name, None, reason=source) for name in names]
                continue
            for name in names:
                apart = distances(base, directions(subject.embed(self.versions[name]))[0])
                near = float(1 - apart.mean())
                bad = "" if np.isfinite(near) else NOT_FINITE
                scores.append(Score(name, None if bad else near, reason=bad))
            kept = sum(map(eq, self.originals, self.versions[names[0]]))
            notes += [f"{kept} of {len(self.originals)} not changed by {kind}"] if kept else []
        return Outcome(tuple(scores), tuple(notes))


def _name(kind: str, rate: float) -> str:
    return f"{kind}@{100 * rate:g}"


def _chosen(texts: Iterable[str]) -> tuple[str, ...]:
    distinct = list(dict.fromkeys(texts))
    return tuple(Random(SEED).sample(distinct, min(_MOST, len(distinct))))


def _open(data: DataSet, path: Path) -> Rewritten:
    """With WordNet where Debian has it and ``MODEL`` where it was downloaded before."""
    from huggingface_hub import try_to_load_from_cache

    pairs = read_dev_pairs(path / "sts-test.csv", split="test")
    texts = _chosen(chain(pairs.first, pairs.second))
    cached = try_to_load_from_cache(MODEL, "config.json")
    folders = [wordnet.DEBIAN, *([Path(cached).parent] if isinstance(cached, str) else [])]
    return _rewritten(data.name, texts, folders, " of STS-B test")


def _own(name: str, files: Sequence[Path]) -> Rewritten:
    """Texts, one a line; a folder among the files is WordNet's or a masked language model's."""
    folders = [file for file in files if file.is_dir()]
    lines = chain.from_iterable(read_field_lines(file) for file in files if file not in folders)
    texts = _chosen(text for line in lines if (text := " ".join(line.split())))
    if not texts:
        raise UserError(f"{files[0]}: there is no text in it; give a file that has some")
    return _rewritten(name, texts, folders, "")


def _rewritten(name: str, texts: tuple[str, ...], folders: Iterable[Path], of: str) -> Rewritten:
    sources: dict[Rewriting, Source | str] = {
        "wdel": Source("", ""),
        "wnet": "WordNet is not there: install Debian's wordnet-base, or name its folder",
        "ctxt": f"no masked language model: get {MODEL}, or name the folder of one",
    }
    for folder in folders:
        if (folder / "config.json").is_file():
            sources["ctxt"] = Source(str(folder), backbone.fingerprint(folder))
        elif (folder / "data.noun").is_file():
            sources["wnet"] = Source(str(folder), wordnet.fingerprint(wordnet.find(str(folder))))
    return Rewritten(name, texts, sources, _PROTOCOL.format(f"{len(texts):,}", of))


AUGMENTATION = Kind(
    "augmentation",
    (DataSet("augmented", "STS/STSBenchmark", "STS benchmark, ixa2.si.ehu.eus/stswiki"),),
    _open,
    _own,
    layout="a text in each line; perhaps WordNet's folder and a masked language model's",
    metrics=tuple(_name(kind, rate) for kind in get_args(Rewriting) for rate in RATES),
)
