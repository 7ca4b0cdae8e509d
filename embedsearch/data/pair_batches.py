"""Batches of mined pairs: which pairs a step has, and their tokens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from embedsearch.data.batches import Batches
from embedsearch.data.mining import Mining
from embedsearch.data.pair_corpus import MinedPairs, PairCorpus
from embedsearch.data.tokens import TokenisedCorpus, same_rows, tokenise
from embedsearch.errors import UserError
from embedsearch.records import content_id

SECOND = "second_"
DOCUMENT = "document_"
TITLE = "title_"
"""Before the names of a pair's second sentence (the first's have nothing), and of the documents and
titles beside the pairs."""

SENTENCE = "sentence"
"""Name of what says which sentence a text is of, or a crop of: (rows,) int64."""

PROMPT = "document2title: "
"""Before a document whose title is to be written; the paper names the task so."""


@dataclass(frozen=True)
class Pairing:
    """How documents become batches of pairs."""

    mining: Mining
    batch_size: int
    """Pairs of a step of short ones; a step of long ones has a quarter."""
    title_share: float
    """Documents with their titles in a step, as a share of its pairs, one at least; 0 for none."""

    @property
    def batch_sizes(self) -> tuple[int, int]:
        """Pairs of a step, of short and of long ones."""
        return self.batch_size, max(2, self.batch_size // 4)


class PairOrder:
    """Which pairs, and which titles, make up the batch of a step: a pure function of the step.

    An epoch has every batch of short pairs and every one of long pairs, in an order that (seed,
    epoch) shuffles; each bucket's pairs are shuffled as ``Batches`` does. A bucket that fills no
    batch is left out. Titles are drawn anew each step, none twice in it.

    Raises ``UserError`` where neither bucket fills a batch.
    """

    def __init__(self, pairs: MinedPairs, pairing: Pairing, seed: int) -> None:
        sizes = pairing.batch_sizes
        rows = [len(pairs.short), len(pairs.long)]
        self.buckets = {
            bucket: Batches(count, size, seed)
            for bucket, (count, size) in enumerate(zip(rows, sizes, strict=True))
            if count >= size
        }
        if not self.buckets:
            raise UserError(
                f"documents '{pairs.name}' make {rows[0]:,} short pairs and {rows[1]:,} long ones, "
                f"and a batch takes {sizes[0]:,} or {sizes[1]:,} of them; give more documents or a "
                "smaller batch_size"
            )
        self.seed, self.titles, self.title_share = seed, len(pairs.titles), pairing.title_share
        self._epoch = -1
        self._turns: NDArray[np.int64] = np.empty(0, dtype=np.int64)

    @property
    def steps_per_epoch(self) -> int:
        return sum(batches.steps_per_epoch for batches in self.buckets.values())

    def pairs(self, step: int) -> tuple[int, NDArray[np.int64]]:
        """Bucket (0 is short, 1 long) and rows of the batch of ``step``; the first is 0."""
        epoch, place = divmod(step, self.steps_per_epoch)
        if epoch != self._epoch:
            steps = [batches.steps_per_epoch for batches in self.buckets.values()]
            turns = np.repeat(list(self.buckets), steps)
            self._turns = np.random.default_rng([self.seed, epoch, 1]).permutation(turns)
            self._epoch = epoch
        bucket = int(self._turns[place])
        batches = self.buckets[bucket]
        before = int((self._turns[:place] == bucket).sum())
        return bucket, batches.indices(epoch * batches.steps_per_epoch + before)

    def title_rows(self, step: int, pairs: int) -> NDArray[np.int64]:
        """Rows of the documents beside ``pairs`` pairs at ``step``."""
        wanted = max(1, round(self.title_share * pairs)) if self.title_share else 0
        random = np.random.default_rng([self.seed, step, 2])
        return random.choice(self.titles, min(wanted, self.titles), replace=False)


class PairBatches:
    """Tokenised batches: a pair's two sentences, and documents with their titles beside them.

    Texts are cut at their bucket's length. Tokens are made once a machine and found after that.
    """

    def __init__(
        self, pairs: MinedPairs, pairing: Pairing, tokenizer: Any, seed: int, *, cache: Path
    ) -> None:
        def tokens(text: _Texts, length: int) -> TokenisedCorpus:
            return tokenise(text, tokenizer, length, cache=cache)

        def both(pairs: PairCorpus) -> dict[str, TokenisedCorpus]:
            length = pairs.bucket
            return {"": tokens(_Texts(pairs, 0), length), SECOND: tokens(_Texts(pairs, 1), length)}

        self.order = PairOrder(pairs, pairing, seed)
        self.pairs = {bucket: (pairs.short, pairs.long)[bucket] for bucket in self.order.buckets}
        self.tokens = {bucket: both(found) for bucket, found in self.pairs.items()}
        self.titles: Mapping[str, TokenisedCorpus] = {}
        if pairing.title_share:
            self.titles = {
                DOCUMENT: tokens(_Texts(pairs.titles, 0, PROMPT), pairs.long.bucket),
                TITLE: tokens(_Texts(pairs.titles, 1), pairs.short.bucket),
            }

    def batch(self, step: int) -> dict[str, Tensor]:
        """``input_ids`` and ``attention_mask`` of the first sentences, of the ``SECOND`` ones, and
        with titles of ``DOCUMENT`` and ``TITLE``, each (rows, longest); and the ``SENTENCE`` of the
        first and of the second ones."""
        bucket, rows = self.order.pairs(step)
        batch = same_rows(self.tokens[bucket], rows)
        first, second = torch.from_numpy(self.pairs[bucket].sentences(rows)).unbind(1)
        batch |= {SENTENCE: first, SECOND + SENTENCE: second}
        if self.titles:
            batch |= same_rows(self.titles, self.order.title_rows(step, len(rows)))
        return batch


@dataclass(frozen=True)
class _Texts:
    """One side of pairs, as texts to tokenise."""

    pairs: PairCorpus
    side: int
    prompt: str = ""

    @property
    def fingerprint(self) -> str:
        return content_id([self.pairs.fingerprint, self.side, self.prompt])

    def __len__(self) -> int:
        return len(self.pairs)

    def __getitem__(self, rows: slice) -> Sequence[str]:
        return [self.prompt + pair[self.side] for pair in self.pairs[rows]]
