"""The contract of a method: views of a batch, terms of a loss, and its hyperparameters."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import torch
from pydantic import BaseModel, ConfigDict, Field
from torch import Tensor, nn

from embedsearch.data.augment import Augmentation
from embedsearch.data.pair_batches import Pairing
from embedsearch.encoder.backbone import SUPPORTED, BackboneFacts
from embedsearch.encoder.model import Encoder
from embedsearch.encoder.seq2seq import SequenceDecoder
from embedsearch.encoder.words import check_pooling
from embedsearch.errors import UserError
from embedsearch.records import Scalar, Source

Batch = Mapping[str, Tensor]
"""``input_ids`` and ``attention_mask``, each (batch, tokens); where the config has an augmentation,
also those of each sentence's augmented text, with ``AUGMENTED`` before their names. A method that
needs pairs gets the first sentences so, and the rest by the names of ``data.pair_batches``."""

AUGMENTED = "augmented_"

Needs = Literal["nothing", "sentences", "pairs"]
"""What a method trains on."""

Views = tuple[Tensor, ...]
"""What a batch gave, row i always from sentence i: encodings, each (batch, dim), and in a method
with a language model also losses by sentence."""

Pooling = Literal["cls", "eos", "mean", "first_last", "top2"]

Rate = Annotated[float, Field(ge=0, lt=1)]
"""A share of units dropped."""


@dataclass(frozen=True)
class ParameterGroup:
    """Parameters that share a peak learning rate."""

    parameters: list[nn.Parameter]
    learning_rate: float


class MethodConfig(BaseModel):
    """What every method is trained with; a method's own ``Config`` adds its hyperparameters.

    A trailing underscore of a field (``lambda_``) only dodges a Python keyword: the name in
    spaces, on the command line and in the record goes without (``lambda``).
    """

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        allow_inf_nan=False,
        alias_generator=lambda name: name.rstrip("_"),
    )

    batch_size: int = Field(64, ge=2)
    """Sentences a step."""
    learning_rate: float = Field(3e-5, gt=0)
    max_length: int = Field(32, ge=3)
    """Tokens a training sentence is cut at, special ones included; evaluation is never cut here."""
    pooling: Pooling = "cls"
    schedule: Literal["linear", "constant", "cosine"] = "linear"
    warmup_ratio: float = Field(0.0, ge=0, le=1)
    """Share of the steps in which the learning rate rises from 0."""
    weight_decay: float = Field(0.0, ge=0)
    """AdamW's, never on biases and norms; 0 is the papers' Adam."""
    max_grad_norm: float = Field(1.0, gt=0)

    def values(self) -> dict[str, Scalar]:
        """The hyperparameters that have an effect beside the others, by name: what a point is."""
        return self.model_dump(mode="json", by_alias=True)

    def sources(self) -> Mapping[str, Source]:
        """What hyperparameters name by its place, found and fingerprinted, by hyperparameter.

        Its content stands for the place in a trial's identity. Raises ``UserError`` where it is
        missing or can't be used; before any start.
        """
        return {}

    def augmentation(self) -> Augmentation | None:
        """What makes the augmented texts that batches hold beside the sentences; None for none."""
        return None

    def pairing(self) -> Pairing:
        """How documents become batches, for a method that needs pairs."""
        raise NotImplementedError


class Method(nn.Module):
    """What is minimised. Its parameters are the heads that exist in training only.

    A subclass gives ``Config``, ``views`` and ``terms``, and makes its heads in ``__init__``. The
    training loop stands between ``views`` and ``terms``, so that it may encode in chunks or gather
    over devices while a contrast still sees the whole batch. Row i of each view comes from row i of
    the batch alone; ``terms`` sees all rows.
    """

    Config: ClassVar[type[MethodConfig]]
    needs: ClassVar[Needs] = "sentences"
    """What batches hold; for ``pairs`` the corpus is one of documents, and ``nothing`` is a method
    without training."""
    architectures: ClassVar[tuple[str, ...]] = SUPPORTED
    """Of backbones that it can train."""
    fitted: ClassVar[bool] = False
    """Whether one ``fit`` takes the place of all steps."""
    indivisible: ClassVar[str] = ""
    """Why ``views`` wants a whole batch at once, for a method where they mix its rows (batch norm
    in the encoder, say); a batch of any other may be computed in chunks and on several devices."""
    revision: ClassVar[int] = 0
    """Raised where a shipped method's own numbers change; a change to those of all raises
    ``NUMERICS``."""

    def __init__(self, config: MethodConfig, encoder: Encoder) -> None:
        super().__init__()

    @classmethod
    def check(cls, config: MethodConfig, backbone: BackboneFacts) -> None:
        """Raise ``UserError`` where ``config`` can't work on ``backbone``; before any start."""
        if config.max_length > backbone.max_tokens:
            raise UserError(
                f"max_length {config.max_length} is more than the {backbone.max_tokens} tokens "
                f"that {backbone.location} can take; lower max_length"
            )
        if backbone.architecture not in cls.architectures:
            raise UserError(
                f"{backbone.location} is a {backbone.architecture}, and {cls.__name__} wants a "
                f"{' or '.join(cls.architectures)}; give another --backbone"
            )
        check_pooling(backbone, config.pooling)
        outer = {"cls": ("before", backbone.opening), "eos": ("behind", backbone.closing)}
        side, token = outer.get(config.pooling, ("", ""))
        if token is None:
            other = "eos or mean" if backbone.closing else "mean"
            raise UserError(
                f"pooling {config.pooling} takes the state of the special token {side} a text, and "
                f"the tokenizer of {backbone.location} puts none there; take pooling {other}"
            )

    def views(self, encoder: Encoder, batch: Batch) -> Views:
        """Run the backbone: the encodings of ``batch`` that ``terms`` compares."""
        raise NotImplementedError

    def terms(self, views: Views, batch: Batch) -> dict[str, Tensor]:
        """The loss as weighted scalars, one per term of the paper; their sum is minimised."""
        raise NotImplementedError

    def companion(self) -> SequenceDecoder | None:
        """A decoder that is kept at the best step and exported with the encoder; None for none."""
        return None

    def fit(self, encoder: Encoder, batch_at: Callable[[int], Batch]) -> None:
        """What a fitted method does in its one step, in evaluation mode and without gradients.

        ``batch_at(step)`` gives the corpus in batches, as in training.
        """
        raise NotImplementedError

    def parameter_groups(self, encoder: Encoder, learning_rate: float) -> list[ParameterGroup]:
        """What is trained, at which rate; by default backbone and heads alike, and what they share
        once."""
        once = {id(p): p for p in [*encoder.parameters(), *self.parameters()]}
        return [ParameterGroup(list(once.values()), learning_rate)]


def resolve(target: str) -> type[Method]:
    """The method class that ``package.module:Class`` names.

    Raises ``UserError`` where there is no such module, class, or it is no ``Method``.
    """
    module_name, _, class_name = target.partition(":")
    try:
        found = getattr(importlib.import_module(module_name), class_name)
    except (ImportError, AttributeError, ValueError) as error:
        raise UserError(f"method '{target}': {error}; write it as package.module:Class") from error
    if not (isinstance(found, type) and issubclass(found, Method)):
        raise UserError(f"method '{target}' is no subclass of embedsearch.methods.base.Method")
    return found


def part(batch: Batch, prefix: str) -> dict[str, Tensor]:
    """What ``batch`` has under names with this ``prefix``, without it; empty where it has none."""
    return {
        name.removeprefix(prefix): value for name, value in batch.items() if name.startswith(prefix)
    }


def total(terms: Mapping[str, Tensor]) -> Tensor:
    """The scalar that is minimised."""
    return torch.stack(list(terms.values())).sum()
