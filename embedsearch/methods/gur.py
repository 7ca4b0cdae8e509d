"""GUR: generate to understand for representation (Xue, Zhong & Liu, 2023)."""

from __future__ import annotations

from functools import lru_cache
from typing import ClassVar, Literal, Self, cast

import torch
from pydantic import Field, model_validator
from torch import Tensor
from torch.nn import functional as F

from embedsearch.data.mining import Mining
from embedsearch.data.pair_batches import DOCUMENT, SECOND, SENTENCE, TITLE, Pairing
from embedsearch.data.spans import hump_geometric, mask_spans
from embedsearch.encoder.backbone import BackboneFacts
from embedsearch.encoder.model import Encoder
from embedsearch.encoder.projection import Projection
from embedsearch.encoder.seq2seq import SequenceDecoder, sentinels
from embedsearch.encoder.tokenizer import load_tokenizer
from embedsearch.errors import UserError
from embedsearch.losses.contrastive import symmetric_info_nce
from embedsearch.methods.base import Batch, Method, MethodConfig, Needs, Views, part
from embedsearch.records import Scalar


class GURConfig(MethodConfig):
    """Defaults are the paper's, but for batch size and learning rate, which it does not print.

    ``max_length`` and ``long_max_length`` are its sequence lengths of 32 and 128: short sentences
    (under 64 Han characters, or as much in other scripts) are trained at the one, with
    ``batch_size`` pairs a step, and long ones at the other, with a quarter of that.
    """

    alpha: float = Field(1.0, gt=0)
    """Weight of the contrast."""
    temperature: float = Field(0.1, gt=0)
    mask_rate: float = Field(0.15, gt=0, le=0.5)
    """Share of a sentence's tokens that are hidden, in spans."""
    peak: int = Field(3, ge=1, le=10)
    """The commonest length of a span: 1 makes the hump a geometric distribution."""
    projection_dim: int = Field(128, ge=1)
    """Of the embedding."""
    short_overlap: float = Field(2.0, gt=0)
    """What two short sentences must have in common to be a pair: Han characters, or as much."""
    long_overlap: float = Field(3.0, gt=0)
    """The same of long ones; not below ``short_overlap``."""
    uses: int = Field(2, ge=1)
    """Pairs that a sentence may be in; a title one more."""
    title_share: float = Field(0.125, ge=0, le=1)
    """Documents whose titles are written, as a share of a step's pairs; 0 for none."""
    lcs: bool = True
    """Without, every two near sentences of a document are a pair (GUR−LCS)."""
    lm: bool = True
    """Without, nothing is written: neither spans nor titles (GUR−LM)."""
    cl: bool = True
    """Without, there is no contrast, and the projection stays as it started (GUR−CL)."""
    long_max_length: int = Field(128, ge=3)
    """Tokens that long sentences and documents are cut at."""
    learning_rate: float = Field(1e-4, gt=0)
    pooling: Literal["eos", "mean"] = "eos"

    @model_validator(mode="after")
    def _something_is_trained(self) -> Self:
        if not (self.lm or self.cl):
            raise ValueError("lm and cl are both off, so nothing would be trained")
        if self.long_overlap < self.short_overlap:
            raise ValueError("long_overlap is below short_overlap")
        return self

    def values(self) -> dict[str, Scalar]:
        """Without what the switches leave without effect."""
        void: set[str] = set()
        void |= set() if self.lcs else {"short_overlap", "long_overlap"}
        void |= set() if self.lm else {"title_share"}
        void |= set() if self.cl else {"alpha", "temperature"}
        return {key: value for key, value in super().values().items() if key not in void}

    def pairing(self) -> Pairing:
        """Pairs by overlap, or with ``lcs`` off all of them."""
        mining = Mining(
            short_overlap=self.short_overlap if self.lcs else 0,
            long_overlap=self.long_overlap if self.lcs else 0,
            uses=self.uses,
            title_uses=self.uses + 1,
            short_tokens=self.max_length,
            long_tokens=self.long_max_length,
        )
        return Pairing(mining, self.batch_size, self.title_share if self.lm else 0)


class GUR(Method):
    """Two sentences that share a phrase, each with spans hidden: their embeddings are drawn
    together, and a decoder writes what is hidden.

    Each sentence is encoded once, masked; that pass gives the decoder its states and the contrast
    its embedding, which is the end token's state behind a projection that stays in the encoder.

    Terms: ``contrast`` is α times the symmetric InfoNCE over the batch's N×N pairs, a mean over
    both directions' rows; ``lm`` the mean negative log-likelihood of the tokens that the decoder
    writes for both sentences (each hidden span behind its sentinel, and the end); ``title`` that of
    titles, written from their whole documents behind a prompt.

    Where the paper says two things: it names its language model "MLM as BERT" and describes T5's
    span denoising with a decoder, which is done; it names the objective "pairwise ranking" and
    prints a symmetric N×N InfoNCE, which is done. Its projection stands on "[CLS]", which T5 does
    not have; the public code takes the end token, and the tanh is ours. It weighs the title task
    nowhere: here like the other texts written, a share ``title_share`` of the rows.

    A batch can hold a sentence twice, in two of its pairs, perhaps in two crops. Two texts that are
    of one sentence, or equal, or a pair anywhere in the batch are never each other's negatives
    (ours).
    """

    Config: ClassVar[type[MethodConfig]] = GURConfig
    needs: ClassVar[Needs] = "pairs"
    architectures = ("t5",)
    revision = 1

    def __init__(self, config: GURConfig, encoder: Encoder) -> None:
        super().__init__(config, encoder)
        self.config = config
        projection = Projection(encoder.facts.dim, config.projection_dim, "tanh")
        encoder.projection = projection.to(encoder.device)
        self.decoder = SequenceDecoder(encoder) if config.lm else None
        self.lengths: Tensor
        self.sentinels: Tensor
        self.register_buffer("lengths", hump_geometric(config.peak), persistent=False)
        ids = torch.tensor(sentinels(encoder.tokenizer))
        self.register_buffer("sentinels", ids, persistent=False)

    @classmethod
    def check(cls, config: MethodConfig, backbone: BackboneFacts) -> None:
        """Raises ``UserError`` where a T5's sentinels or end token are wanting."""
        super().check(config, backbone)
        config = cast(GURConfig, config)
        longest = config.long_max_length
        if not config.max_length <= longest <= backbone.max_tokens:
            raise UserError(
                f"long_max_length {longest} must lie between max_length {config.max_length} and "
                f"the {backbone.max_tokens} tokens that {backbone.location} can take"
            )
        if backbone.closing is None or backbone.opening is not None:
            raise UserError(
                f"the tokenizer of {backbone.location} does not end its texts as a T5's does, with "
                "</s> and nothing before them; give another --backbone"
            )
        most = round(config.mask_rate * (longest - 1))
        if _sentinels(backbone.location) < most:
            raise UserError(
                f"the tokenizer of {backbone.location} has {_sentinels(backbone.location)} of T5's "
                f"<extra_id_0>, <extra_id_1> …, and mask_rate {config.mask_rate:g} can take {most}"
            )

    def companion(self) -> SequenceDecoder | None:
        """With ``lm`` the decoder: its use is to write (the paper expands queries with it)."""
        return self.decoder

    def views(self, encoder: Encoder, batch: Batch) -> Views:
        """Embeddings of first and second sentences, each (pairs, dim); with ``lm`` also the losses
        of what is written for each pair (pairs, 2), and of each title (titles, 2)."""
        both = stacked(batch, part(batch, SECOND))
        noisy = mask_spans(both, self.lengths, self.config.mask_rate, self.sentinels)
        states, seen = encoder.states(noisy.inputs), noisy.inputs["attention_mask"]
        first, second = encoder.embedding((states,), seen).chunk(2)
        if self.decoder is None:
            return first, second
        written = self.decoder(states, seen, noisy.targets)
        views = first, second, sum(written.chunk(2))
        if not (titles := part(batch, TITLE)):
            return views
        documents = part(batch, DOCUMENT)
        states = encoder.states(documents)
        return *views, self.decoder(states, documents["attention_mask"], titles)

    def terms(self, views: Views, batch: Batch) -> dict[str, Tensor]:
        """``contrast``, ``lm`` and ``title``, as far as they are switched on."""
        config, (first, second, *written) = self.config, views
        terms = {}
        if config.cl:
            known = known_pairs(batch)
            contrast = symmetric_info_nce(first, second, config.temperature, known)
            terms["contrast"] = config.alpha * contrast
        for name, losses in zip(("lm", "title"), written, strict=False):
            total, count = losses.sum(0)
            terms[name] = total / count
        return terms


def stacked(first: Batch, second: Batch) -> dict[str, Tensor]:
    """The rows of both, one under the other, padded to one width: (2·batch, tokens)."""
    names = ("input_ids", "attention_mask")
    width = max(side["input_ids"].shape[1] for side in (first, second))
    return {
        name: torch.cat(
            [F.pad(side[name], (0, width - side[name].shape[1])) for side in (first, second)]
        )
        for name in names
    }


def known_pairs(batch: Batch) -> Tensor:
    """Which first and second sentences belong together, (pairs, pairs): those that are one, whole
    or in crops, or read the same, and those that are a pair of the batch in whatever order."""
    both = stacked(batch, part(batch, SECOND))
    tokens = both["input_ids"].masked_fill(both["attention_mask"] == 0, -1)
    sentences = torch.cat([batch[SENTENCE], batch[SECOND + SENTENCE]])
    return _together(tokens) | _together(sentences)


def _together(rows: Tensor) -> Tensor:
    """As ``known_pairs``, of equal rows of (2·pairs, …): the first ones', and under them the second
    ones'."""
    numbers = torch.unique(rows, dim=0, return_inverse=True)[1]
    first, second = numbers.chunk(2)
    together = torch.eye(int(numbers.max()) + 1, dtype=torch.bool, device=rows.device)
    together[first, second] = together[second, first] = True
    return together[first][:, second]


@lru_cache(maxsize=8)
def _sentinels(location: str) -> int:
    return len(sentinels(load_tokenizer(location)))
