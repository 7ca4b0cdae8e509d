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

Rewrite = Callable[[Sequence[str], Sequence[Random]], list[str]]
"""Sentences and a random state for each to as many sentences, in their order."""


@dataclass(frozen=True)
class Augmentation:
    """How a sentence's second text is made."""

    kind: Kind
    rate: float
    """Share of a sentence's words that change; how many that is says ``words.changed``."""
    source: Source
    """WordNet's folder or the masked model's; nothing for ``wdel``."""

    def rewriter(self, device: str) -> Rewrite:
        """What does it, loaded; a model runs on ``device``."""
        folder = Path(self.source.location)
        if self.kind == "ctxt":
            model = MaskedWords(folder, device)
            return lambda sentences, randoms: model.substitute(sentences, self.rate, randoms)
        if self.kind == "wnet":
            synonyms = read_synonyms(folder)
            return _each(lambda sentence, random: substitute(sentence, self.rate, synonyms, random))
        return _each(lambda sentence, random: delete(sentence, self.rate, random))


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
    rewrite = augmentation.rewriter(device)
    for start in range(0, len(corpus), _CHUNK):
        sentences = corpus[start : start + _CHUNK]
        yield from rewrite(
            sentences, [Random(f"{seed}/{start + i}") for i in range(len(sentences))]
        )


def _each(change: Callable[[str, Random], str]) -> Rewrite:
    return lambda sentences, randoms: list(map(change, sentences, randoms))
