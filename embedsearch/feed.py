"""What a trial trains on: the batch of each of its steps, and how many make an epoch."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

from embedsearch.data.augment import augmented
from embedsearch.data.batches import Batches
from embedsearch.data.corpus import Corpus
from embedsearch.data.documents import KeptDocuments
from embedsearch.data.pair_batches import PairBatches, Pairing, PairOrder
from embedsearch.data.pair_corpus import MinedPairs, mine_pairs
from embedsearch.data.tokens import TokenisedCorpus, same_rows, tokenise
from embedsearch.errors import UserError
from embedsearch.methods.base import AUGMENTED, Batch, Method, MethodConfig
from embedsearch.records import Source, TrialSpec

BatchAt = Callable[[int], Batch]
"""The batch of optimiser step 0, 1, …"""


def steps_per_epoch(
    method: type[Method], config: MethodConfig, corpus: Source, rows: int, seed: int, cache: Path
) -> int:
    """Over a corpus of ``rows`` sentences, or over the pairs of its documents, which are mined.

    Raises ``UserError`` where there are too few for a batch.
    """
    if method.needs == "pairs":
        pairing = config.pairing()
        return PairOrder(_mined(corpus, pairing, cache), pairing, seed).steps_per_epoch
    return Batches(rows, config.batch_size, seed).steps_per_epoch


def batches(
    spec: TrialSpec, method: Method, config: MethodConfig, tokenizer: Any, cache: Path
) -> BatchAt:
    """The batches of ``spec``; what they are made of is made where ``cache`` does not have it."""
    if method.needs == "nothing":
        return _no_batch
    if method.needs == "pairs":
        pairing = config.pairing()
        mined = _mined(spec.corpus, pairing, cache)
        return PairBatches(mined, pairing, tokenizer, spec.seed, cache=cache).batch
    texts = {
        prefix: _tokens(folder, tokenizer, config.max_length, cache)
        for prefix, folder in _corpora(spec, config, cache).items()
    }
    order = Batches(len(texts[""]), config.batch_size, spec.seed)
    return lambda step: same_rows(texts, order.indices(step))


def must_match(location: str, found: str, wanted: str) -> None:
    """Raise ``UserError`` where ``location`` no longer holds what the sweep was planned with."""
    if found != wanted:
        raise UserError(
            f"{location} has changed since the sweep was planned: give the command again"
        )


def _corpora(spec: TrialSpec, config: MethodConfig, cache: Path) -> dict[str, str]:
    """The folders of the corpora that batches hold rows of, by what goes before their names."""
    for key, source in config.sources().items():
        must_match(source.location, source.fingerprint, spec.point.contents[key])
    folders = {"": spec.corpus.location}
    if augmentation := config.augmentation():
        corpus = Corpus.at(Path(spec.corpus.location))
        made = augmented(corpus, augmentation, spec.seed, cache=cache, device=spec.device)
        folders[AUGMENTED] = str(made.folder)
    return folders


def _no_batch(step: int) -> Batch:
    raise AssertionError(f"a method that needs no corpus asked for batch {step}")


def _mined(corpus: Source, pairing: Pairing, cache: Path) -> MinedPairs:
    """The pairs of a corpus of documents; the same for every seed, which shuffles them anew."""
    documents = KeptDocuments.at(Path(corpus.location), corpus.name)
    return mine_pairs(documents, pairing.mining, cache=cache)


@functools.lru_cache(maxsize=4)
def _tokens(corpus: str, tokenizer: Any, length: int, cache: Path) -> TokenisedCorpus:
    return tokenise(Corpus.at(Path(corpus)), tokenizer, length, cache=cache)
