"""``ctxt``: words replaced by what a masked language model would write in their place."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from embedsearch.data.augment.words import Words, changed, draw, dressed
from embedsearch.errors import UserError

TOP = 10
"""From how many of the likeliest words one is drawn."""

_SPELLINGS = 4
"""How many more are looked at, for the masked word itself and its capitals."""

_TOKENS = 1_024
"""In a batch, padding included: what a model gives is as large as that times its vocabulary."""

_LONGEST = 256
"""Tokens of a sentence that a model is shown at most."""


_START, _SPACE, _MARK = _BEFORE = ("", " ", '"')
"""What a word may stand behind: nothing, a space, or anything else. Where spaces belong to tokens
(RoBERTa's ``Ġ``, SentencePiece's ``▁``), a word is another token behind each."""


@dataclass(frozen=True)
class _Gap:
    """A masked word."""

    row: int
    place: int
    """Among the words of its sentence."""
    before: str
    """What the word stands behind, one of ``_BEFORE``."""
    token: int


class MaskedWords:
    """A masked language model, and the whole words it may propose."""

    def __init__(self, folder: Path, device: str = "cpu") -> None:
        """Raises ``UserError`` where ``folder`` holds no masked model that can be used."""
        self.tokenizer = _load_tokenizer(folder)
        self.model = _load_model(folder).eval().to(device)
        self.device = device
        self.words = _whole_words(self.tokenizer)
        self._allowed = {before: torch.tensor(sorted(ids)) for before, ids in self.words.items()}
        config = self.model.config
        last = int(getattr(config, "max_position_embeddings", _LONGEST))
        positions = last - (config.pad_token_id or 0) - 1  # RoBERTa counts from behind its padding
        self.limit = min(_LONGEST, positions, self.tokenizer.model_max_length)

    def substitute(
        self, sentences: Sequence[str], rate: float, randoms: Sequence[Random]
    ) -> list[str]:
        """``sentences``, in each of which ``words.changed`` of its words, drawn alike, are others.

        All words of a sentence that change are masked at once, each by one mask however many
        tokens it has, and filled by one of the ``TOP`` likeliest words, drawn by its probability:
        one token that is a whole word in that place (no piece of one, no punctuation, no special
        token), and not the word that stood there, its capitals aside. A capital is kept. What lies
        behind the tokens the model can take stays. A row hangs on its own random state and on the
        model's rounding alone, not on the rows beside it.
        """
        parts = [Words.of(sentence) for sentence in sentences]
        chosen = [
            draw(range(len(words)), changed(rate, len(words)), random)
            for words, random in zip(parts, randoms, strict=True)
        ]
        ids, gaps = self._masked(parts, chosen)
        for gap, scores in self._scored(ids, gaps):
            words = parts[gap.row].words
            words[gap.place] = self._proposal(words[gap.place], gap, scores, randoms[gap.row])
        return list(map(str, parts))

    def _masked(
        self, parts: Sequence[Words], chosen: Sequence[Sequence[int]]
    ) -> tuple[list[list[int]], list[list[_Gap]]]:
        """Each sentence's ids with its chosen words masked, and its gaps that are among them."""
        mask = self.tokenizer.mask_token
        masked = [
            Words([mask if i in places else word for i, word in enumerate(words.words)], words.gaps)
            for words, places in zip(parts, chosen, strict=True)
        ]
        encoding = self.tokenizer(list(map(str, masked)), truncation=True, max_length=self.limit)
        gaps: list[list[_Gap]] = []
        for row, (words, places) in enumerate(zip(masked, chosen, strict=True)):
            starts = words.starts()
            tokens = {place: encoding.char_to_token(row, starts[place]) for place in places}
            gaps.append(
                [
                    _Gap(row, place, _before(words, place), token)
                    for place, token in tokens.items()
                    if token is not None
                ]
            )
        return encoding["input_ids"], gaps

    @torch.no_grad()
    def _scored(
        self, ids: Sequence[Sequence[int]], gaps: Sequence[Sequence[_Gap]]
    ) -> Iterator[tuple[_Gap, Tensor]]:
        """Every gap with the scores of all tokens, in batches of sentences of like length; the gaps
        of a sentence in their order."""
        rows = sorted((row for row, found in enumerate(gaps) if found), key=lambda r: len(ids[r]))
        for batch in _batches(rows, ids):
            lengths = torch.tensor([len(ids[row]) for row in batch])
            padded = pad_sequence([torch.tensor(ids[row]) for row in batch], True)
            attention = (torch.arange(padded.shape[1]) < lengths[:, None]).long()
            inputs = {"input_ids": padded, "attention_mask": attention}
            logits = self.model(**{k: v.to(self.device) for k, v in inputs.items()}).logits
            wanted = [(i, gap) for i, row in enumerate(batch) for gap in gaps[row]]
            places = [i for i, _ in wanted], [gap.token for _, gap in wanted]
            scores = logits[places].float().cpu()
            yield from zip((gap for _, gap in wanted), scores, strict=True)

    def _proposal(self, word: str, gap: _Gap, scores: Tensor, random: Random) -> str:
        """One of the likeliest other words; ``word`` itself where there is none."""
        allowed, words = self._allowed[gap.before], self.words[gap.before]
        best, places = scores[allowed].topk(min(TOP + _SPELLINGS, len(allowed)))
        found = [words[i] for i in allowed[places].tolist()]
        kept = [i for i, other in enumerate(found) if other.lower() != word.lower()][:TOP]
        if not kept:
            return word
        weights = best[kept].softmax(0).tolist()
        return dressed(random.choices([found[i] for i in kept], weights)[0], like=word)


def _batches(rows: Sequence[int], ids: Sequence[Sequence[int]]) -> Iterator[list[int]]:
    """``rows``, shortest first, in as many as make ``_TOKENS`` once padded."""
    batch: list[int] = []
    for row in rows:
        if batch and (len(batch) + 1) * len(ids[row]) > _TOKENS:
            yield batch
            batch = []
        batch.append(row)
    if batch:
        yield batch


def _before(words: Words, place: int) -> str:
    gap = words.gaps[place]
    return _START if not (gap or place) else _SPACE if gap[-1:].isspace() else _MARK


def _whole_words(tokenizer: Any) -> dict[str, dict[int, str]]:
    """The tokens that are a word by themselves, by id, for each of ``_BEFORE``.

    What is one behind a mark alone is a piece (``er``), but for a Han character.
    """
    special = set(tokenizer.all_special_ids)
    ids = [i for i in range(len(tokenizer)) if i not in special]
    texts = [text.strip() for text in tokenizer.batch_decode([[i] for i in ids])]
    words = {i: x for i, x in zip(ids, texts, strict=True) if Words.of(x).words == [x]}

    def tokens(texts: Sequence[str]) -> list[list[int]]:
        found: list[list[int]] = tokenizer(texts, add_special_tokens=False)["input_ids"]
        return found

    found = {
        before: {
            i: words[i]
            for i, made in zip(words, tokens([before + x for x in words.values()]), strict=True)
            if made == [*tokens([before.strip()])[0], i]
        }
        for before in _BEFORE
    }
    whole = set(found[_SPACE].values())
    return {
        before: {i: x for i, x in known.items() if x in whole or Words.of(x + x).words == [x, x]}
        for before, known in found.items()
    }


def _load_tokenizer(folder: Path) -> Any:
    from transformers import AutoTokenizer

    try:
        tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=False)
    except (OSError, ValueError, KeyError) as error:
        raise _unusable(folder, "its tokenizer can't be loaded") from error
    if not tokenizer.is_fast or tokenizer.mask_token is None:
        lacks = "no mask token" if tokenizer.is_fast else "no tokenizer.json"
        raise _unusable(folder, f"it has {lacks}")
    return tokenizer


def _load_model(folder: Path) -> Any:
    from transformers import AutoModelForMaskedLM
    from transformers.utils import logging

    level = logging.get_verbosity()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        model, loading = AutoModelForMaskedLM.from_pretrained(
            folder,
            trust_remote_code=False,
            use_safetensors=True,
            dtype=torch.float32,
            output_loading_info=True,
        )
    except (OSError, ValueError, KeyError) as error:
        raise _unusable(folder, str(error).strip().splitlines()[0].rstrip(".")) from error
    finally:
        logging.set_verbosity(level)
        logging.enable_progress_bar()
    if missing := sorted(loading["missing_keys"]):
        raise _unusable(folder, f"its weight '{missing[0]}' is missing and would be random")
    return model


def _unusable(folder: Path, why: str) -> UserError:
    return UserError(
        f"augment ctxt can't use {folder}: {why}; give a masked language model with its head by "
        "augment_source=NAME_OR_FOLDER, such as roberta-base"
    )
