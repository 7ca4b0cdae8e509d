"""A corpus as token ids, made once per machine and mapped into memory by every trial."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from filelock import FileLock
from numpy.typing import NDArray
from torch import Tensor

from embedsearch.durable import write_whole
from embedsearch.errors import UserError
from embedsearch.records import content_id

_LAYOUT = 1
_CHUNK = 1_000


def tokenizer_fingerprint(tokenizer: Any) -> str:
    """Names what a fast tokenizer does to a text; truncation and padding, set per call, aside.

    Raises ``UserError`` for one that is not fast: its ways can't be fingerprinted.
    """
    if getattr(tokenizer, "backend_tokenizer", None) is None:
        kind, place = type(tokenizer).__name__, tokenizer.name_or_path or "the backbone"
        raise UserError(
            f"the {kind} of {place} has no fast form; save the backbone with a tokenizer.json"
        )
    facts = json.loads(tokenizer.backend_tokenizer.to_str())
    return content_id({**facts, "truncation": None, "padding": None, "pad": tokenizer.pad_token_id})


class Texts(Protocol):
    """What is tokenised: a corpus, or a side of pairs."""

    @property
    def fingerprint(self) -> str:
        """Names all texts and their order."""

    def __len__(self) -> int: ...

    def __getitem__(self, rows: slice, /) -> Sequence[str]: ...


@dataclass(frozen=True, eq=False)
class TokenisedCorpus:
    """Token ids of every sentence, special ones included, cut at the length it was made with."""

    ids: NDArray[np.int32]
    """All sentences' ids, one after another."""
    offsets: NDArray[np.int64]
    """Where each sentence starts; one more at the end: (sentences + 1,)."""
    pad_id: int

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def batch(self, rows: NDArray[np.int64] | Sequence[int]) -> dict[str, Tensor]:
        """``input_ids`` and ``attention_mask`` of these sentences, each (batch, longest) int64."""
        rows = np.asarray(rows)
        starts = self.offsets[rows]
        lengths = self.offsets[rows + 1] - starts
        places = np.arange(lengths.max())
        mask = places < lengths[:, None]
        ids = np.full(mask.shape, self.pad_id, dtype=np.int64)
        ids[mask] = self.ids[(starts[:, None] + places)[mask]]
        return {
            "input_ids": torch.from_numpy(ids),
            "attention_mask": torch.from_numpy(mask.astype(np.int64)),
        }


def same_rows(
    texts: Mapping[str, TokenisedCorpus], rows: NDArray[np.int64] | Sequence[int]
) -> dict[str, Tensor]:
    """These rows of every one of ``texts`` as one batch: names with each one's prefix (its key)."""
    return {
        prefix + name: value
        for prefix, tokens in texts.items()
        for name, value in tokens.batch(rows).items()
    }


def tokenise(corpus: Texts, tokenizer: Any, max_length: int, *, cache: Path) -> TokenisedCorpus:
    """The tokens of ``corpus``, each sentence cut at ``max_length`` (special tokens included).

    Made where ``cache`` does not have them yet, keyed by what the corpus, the tokenizer and the
    length are; several processes may ask at once, and one makes them. The fast tokenizer runs on
    all cores unless ``TOKENIZERS_PARALLELISM=false``.
    """
    key = content_id([_LAYOUT, corpus.fingerprint, tokenizer_fingerprint(tokenizer), max_length])
    folder = cache / "tokens" / key
    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(folder.with_suffix(".lock")):
        if not folder.is_dir():
            write_whole(folder, lambda draft: _write(draft, _encode(corpus, tokenizer, max_length)))
    ids = np.memmap(folder / "ids.int32", dtype=np.int32, mode="r")
    offsets = np.load(folder / "offsets.npy", mmap_mode="r")
    return TokenisedCorpus(
        ids.view(np.ndarray), offsets.view(np.ndarray), tokenizer.pad_token_id or 0
    )


def _encode(corpus: Texts, tokenizer: Any, max_length: int) -> Iterator[list[list[int]]]:
    for start in range(0, len(corpus), _CHUNK):
        yield tokenizer(
            corpus[start : start + _CHUNK],
            truncation=True,
            max_length=max_length,
            return_attention_mask=False,
            return_token_type_ids=False,
        )["input_ids"]


def _write(folder: Path, chunks: Iterator[list[list[int]]]) -> None:
    folder.mkdir()
    lengths: list[NDArray[np.int64]] = [np.zeros(1, dtype=np.int64)]
    with (folder / "ids.int32").open("wb") as file:
        for chunk in chunks:
            np.concatenate([np.asarray(row, dtype=np.int32) for row in chunk]).tofile(file)
            lengths.append(np.fromiter(map(len, chunk), dtype=np.int64, count=len(chunk)))
    np.save(folder / "offsets.npy", np.cumsum(np.concatenate(lengths)))
