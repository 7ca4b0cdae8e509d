"""A corpus written again with some words changed: VaSCL's explicit augmentations.

Its section 4.4 prints WDel, WNet and CTxt, and that 5, 10 or 20 % of the words of each text change;
the rest is said where it is decided: ``words``, ``deletion``, ``wordnet``, ``masked``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from typing import Literal

from embedsearch.data.augment.deletion import delete
from embedsearch.data.augment.masked import MaskedWords
from embedsearch.data.augment.wordnet import read_synonyms, substitute
from embedsearch.data.corpus import Corpus, keep_corpus
from embedsearch.records import Source, content_id

Kind = Literal["wdel", "wnet", "ctxt"]
"""Words deleted, replaced by WordNet's synonyms, or by a masked language model's proposals."""

VERSION = 2
"""Raised when the same augmentation would write other sentences."""

_CHUNK = 1_000

Rewrite = Callable[[Sequence[str], float, Sequence[Random]], list[str]]
"""Sentences, the share of each one's words that change (``words.changed``), and a random state for
each to as many sentences, in their order."""


@dataclass(frozen=True)
class Augmentation:
    """How a sentence's second text is made."""

    kind: Kind
    rate: float
    """Share of a sentence's words that change; how many that is says ``words.changed``."""
    source: Source
    """WordNet's folder or the masked model's; nothing for ``wdel``."""


def rewriter(kind: Kind, source: Source, device: str) -> Rewrite:
    """What does it at any rate, loaded; a model runs on ``device``."""
    folder = Path(source.location)
    if kind == "ctxt":
        return MaskedWords(folder, device).substitute
    if kind == "wnet":
        synonyms = read_synonyms(folder)
        return _each(lambda text, rate, random: substitute(text, rate, synonyms, random))
    return _each(delete)


def augmented(
    corpus: Corpus, augmentation: Augmentation, seed: int, *, cache: Path, device: str = "cpu"
) -> Corpus:
    """``corpus`` augmented: as many rows, each made of the row of the same number.

    Made where ``cache`` does not have it yet, keyed by the contents of corpus and source, kind,
    rate and seed; several processes may ask at once, and one makes it, chunk after chunk. A row
    hangs on the seed, its number and its sentence alone. All epochs see the same text.
    """
    facts = {**asdict(augmentation), "source": augmentation.source.fingerprint}
    key = content_id([VERSION, corpus.fingerprint, facts, seed])
    rows = _rows(corpus, augmentation, seed, device)
    name = f"{corpus.name}, {augmentation.kind}"
    return keep_corpus(cache / "augmented" / key, name, rows, rows_wanted=len(corpus))


def _rows(corpus: Corpus, augmentation: Augmentation, seed: int, device: str) -> Iterator[str]:
    rewrite = rewriter(augmentation.kind, augmentation.source, device)
    for start in range(0, len(corpus), _CHUNK):
        sentences = corpus[start : start + _CHUNK]
        randoms = [Random(f"{seed}/{start + i}") for i in range(len(sentences))]
        yield from rewrite(sentences, augmentation.rate, randoms)


def _each(change: Callable[[str, float, Random], str]) -> Rewrite:
    return lambda sentences, rate, randoms: [
        change(sentence, rate, random) for sentence, random in zip(sentences, randoms, strict=True)
    ]
