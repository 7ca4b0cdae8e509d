"""The encoder: a backbone, its pooling and perhaps a projection; sentences in, (batch, dim) out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from embedsearch.encoder.backbone import WORD_TABLE, BackboneFacts, describe
from embedsearch.encoder.dropout import draw_fast, dropout_at
from embedsearch.encoder.pooling import LAYERS, pool
from embedsearch.encoder.projection import Projection
from embedsearch.encoder.saved import Saved, read_saved
from embedsearch.encoder.tokenizer import load_tokenizer
from embedsearch.encoder.words import STATIC, check_pooling, load_table, words_of
from embedsearch.errors import UserError

ROWS_TOGETHER = 32
"""Sentences that a CPU encodes at once: few enough to be of like length and to stay in cache."""


class Encoder(nn.Module):
    """A backbone and its pooling, the same in training and at test.

    ``projection`` belongs to the embedding: it stands behind the pooling, is trained with the rest
    and saved with it. A method or a fit may set it; None is none. The pooling ``static`` takes a
    transformer's words alone: the encoder is the mean of that word table.
    """

    def __init__(
        self,
        transformer: nn.Module,
        tokenizer: Any,
        facts: BackboneFacts,
        pooling: str,
        projection: Projection | None = None,
    ) -> None:
        super().__init__()
        if pooling == STATIC:
            transformer, tokenizer, facts = words_of(transformer, tokenizer, facts)
            pooling = "mean"
        self.transformer = transformer
        self.tokenizer = tokenizer
        self.facts = facts
        self.pooling = pooling
        self.projection = projection

    @classmethod
    def load(cls, location: str, pooling: str | None = None) -> Encoder:
        """The encoder at ``location`` (``nano``, folder, word vectors or hub name), in float32.

        Without ``pooling`` it is what ``export`` or sentence-transformers wrote there, projection
        included (``read_saved``); texts are still cut at the backbone's own limit, where
        sentence-transformers would cut them at its ``max_seq_length``. With ``pooling`` it is the
        backbone under that pooling, whatever else the folder holds. Of a T5 the encoder alone is
        loaded; word vectors have no pooling but ``mean``.

        Raises ``UserError`` where the architecture is not supported, a weight is missing, or no
        pooling is said.
        """
        facts = describe(location)
        saved = saved_under(pooling, location, facts)
        load = load_table if facts.architecture == WORD_TABLE else _load_transformer
        transformer, tokenizer = load(facts)
        return cls(transformer, tokenizer, facts, saved.pooling, saved.projection)

    @property
    def dim(self) -> int:
        """Of the embedding: the projection's width, or the backbone's."""
        return self.facts.dim if self.projection is None else self.projection.width

    @property
    def device(self) -> torch.device:
        return next(self.parameters()).device

    def encode(self, batch: Mapping[str, Tensor], dropout: float | None = None) -> Tensor:
        """Encode ``input_ids`` under ``attention_mask``, each (batch, tokens): (batch, dim).

        In training mode, ``dropout`` sets every dropout of the backbone for this call alone; None
        keeps the backbone's own rates. In evaluation mode nothing is dropped.
        """
        with dropout_at(self.transformer, dropout):
            if self.device.type != "cpu":
                return self._encode(batch["input_ids"], batch["attention_mask"])
            return self._encode_by_length(batch["input_ids"], batch["attention_mask"])

    def states(self, batch: Mapping[str, Tensor]) -> Tensor:
        """The last states of every token, (batch, tokens, dim), under the backbone's own rates."""
        out = self.transformer(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"])
        states: Tensor = out.last_hidden_state
        return states

    def _encode(self, ids: Tensor, mask: Tensor) -> Tensor:
        every_layer = len(LAYERS[self.pooling]) > 1
        out = self.transformer(input_ids=ids, attention_mask=mask, output_hidden_states=every_layer)
        hidden = out.hidden_states if every_layer else (out.last_hidden_state,)
        return self.embedding(hidden, mask)

    def embedding(self, hidden: Sequence[Tensor], mask: Tensor) -> Tensor:
        """What ``encode`` gives, (batch, dim), from the hidden states of texts under ``mask``
        (batch, tokens), as ``pool`` takes them."""
        pooled = pool(self.pooling, hidden, mask)
        return pooled if self.projection is None else self.projection(pooled)

    def _encode_by_length(self, ids: Tensor, mask: Tensor) -> Tensor:
        """Rows of like length together, each part as wide as its longest: a CPU pays for padding,
        where a GPU would rather have one large launch."""
        lengths = mask.sum(1)
        order = lengths.argsort(stable=True)
        widths = [(rows, int(lengths[rows].max())) for rows in torch.split(order, ROWS_TOGETHER)]
        parts = [self._encode(ids[rows, :width], mask[rows, :width]) for rows, width in widths]
        return torch.cat(parts)[order.argsort()]

    @torch.no_grad()
    def embed(self, texts: Sequence[str], batch_size: int = 64) -> Tensor:
        """Embed ``texts`` without dropout: (texts, dim), float32 on the CPU, in their order.

        Texts are cut at the backbone's own limit. The mode the encoder was in is restored.
        """
        was_training = self.training
        self.eval()
        ids = self._tokenise(texts)
        by_length = sorted(range(len(ids)), key=lambda row: len(ids[row]))
        out = torch.empty(len(ids), self.dim)
        for start in range(0, len(ids), batch_size):
            rows = by_length[start : start + batch_size]
            out[rows] = self._encode(*self._padded([ids[row] for row in rows])).float().cpu()
        self.train(was_training)
        return out

    def _padded(self, rows: Sequence[Sequence[int]]) -> tuple[Tensor, Tensor]:
        """``input_ids`` and ``attention_mask`` on the encoder's device, each (rows, longest)."""
        lengths = torch.tensor([len(row) for row in rows])
        mask = torch.arange(int(lengths.max())) < lengths[:, None]
        ids = torch.full(mask.shape, self.tokenizer.pad_token_id or 0)
        ids[mask] = torch.tensor(list(chain.from_iterable(rows)), dtype=torch.long)
        return ids.to(self.device), mask.long().to(self.device)

    def _tokenise(self, texts: Sequence[str]) -> list[list[int]]:
        """As calling the tokenizer would, without its second pass in Python over every text."""
        backend = self.tokenizer.backend_tokenizer
        backend.enable_truncation(self.facts.max_tokens)
        backend.no_padding()
        return [encoding.ids for encoding in backend.encode_batch_fast(list(texts))]


@contextmanager
def quiet_transformers() -> Iterator[None]:
    """No progress bar and no report of an unused pooler; what is missing is our own error."""
    from transformers.utils import logging

    level = logging.get_verbosity()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        logging.enable_progress_bar()


def saved_under(pooling: str | None, location: str, facts: BackboneFacts) -> Saved:
    """How embeddings are made under ``pooling``; without, as the folder at ``location`` says or as
    word vectors are. Raises ``UserError`` where that can't be, or nothing is said."""
    saved = Saved(pooling) if pooling else read_saved(Path(facts.location), facts.layers)
    saved = saved or (Saved("mean") if facts.architecture == WORD_TABLE else None)
    if saved is None:
        raise UserError(f"{location} has no pooling of its own: say --pooling cls or mean")
    check_pooling(facts, saved.pooling)
    return saved


def _load_transformer(facts: BackboneFacts) -> tuple[nn.Module, Any]:
    from transformers import AutoModel, T5EncoderModel

    kind = T5EncoderModel if facts.architecture == "t5" else AutoModel
    no_pooler = {"add_pooling_layer": False} if facts.architecture in ("bert", "roberta") else {}
    with quiet_transformers():
        model, loading = kind.from_pretrained(
            facts.location,
            trust_remote_code=False,
            use_safetensors=True,
            dtype=torch.float32,
            output_loading_info=True,
            **no_pooler,
        )
    if missing := sorted(loading["missing_keys"]):
        raise UserError(
            f"{facts.location}: {len(missing)} weights are missing, '{missing[0]}' first; they "
            "would be random, so this folder can't be a backbone"
        )
    transformer: nn.Module = model
    draw_fast(transformer)
    return transformer, load_tokenizer(facts.location)
