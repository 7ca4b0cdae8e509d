"""An explicit augmentation as a method's second text: its hyperparameters, and its batch."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Literal, Self

from pydantic import Field, model_validator

from embedsearch.data.augment import VERSION, Augmentation, Kind, wordnet
from embedsearch.data.augment.masked import MaskedWords
from embedsearch.encoder import backbone
from embedsearch.errors import UserError
from embedsearch.methods.base import AUGMENTED, Batch, MethodConfig, part
from embedsearch.records import Scalar, Source, content_id

SOURCE = "augment_source"


class AugmentedConfig(MethodConfig):
    """Of a method that can take an augmented sentence for a view (VaSCL, section 4.4).

    Its batches then hold that sentence too, and ``augmented`` gives it.
    """

    augment: Literal["none", "wdel", "wnet", "ctxt"] = "none"
    """Nothing, words deleted, replaced by WordNet's synonyms, or by a masked model's proposals."""
    augment_rate: float = Field(0.1, gt=0, lt=1)
    """Share of a sentence's words that change, at least one (see ``data.augment.words``)."""
    augment_source: str | None = None
    """WordNet's folder (none: where Debian has it), or a masked language model's name or folder."""

    @model_validator(mode="after")
    def _source_is_what_is_read(self) -> Self:
        if self.augment in ("none", "wdel") and self.augment_source is not None:
            raise ValueError(f"augment={self.augment} reads no augment_source, leave it out")
        if self.augment == "ctxt" and self.augment_source is None:
            raise ValueError(
                "augment=ctxt wants a masked language model: give its name or folder, for example "
                "augment_source=roberta-base"
            )
        return self

    def values(self) -> dict[str, Scalar]:
        """Without an augmentation, none of its own."""
        values = super().values()
        if self.augment == "none":
            return {key: x for key, x in values.items() if not key.startswith("augment")}
        return values

    def sources(self) -> Mapping[str, Source]:
        """WordNet or the masked model; ``UserError`` where it is missing or can't be used."""
        reads = self.augment in ("wnet", "ctxt")
        return {SOURCE: _source(self.augment, self.augment_source)} if reads else {}

    def augmentation(self) -> Augmentation | None:
        """The one that is chosen."""
        if self.augment == "none":
            return None
        source = self.sources().get(SOURCE, Source("", ""))
        return Augmentation(self.augment, self.augment_rate, source)


def augmented(batch: Batch) -> Batch:
    """The batch's augmented sentences under the names that sentences have."""
    return part(batch, AUGMENTED)


@lru_cache(maxsize=4)
def _source(kind: Kind, location: str | None) -> Source:
    """Found, tried and fingerprinted once for all trials of a process."""
    if kind == "wnet":
        folder = wordnet.find(location)
        return Source(str(folder), wordnet.fingerprint(folder), folder.name)
    folder = _model_folder(str(location))
    MaskedWords(folder)
    return Source(str(folder), content_id([VERSION, backbone.fingerprint(folder)]), folder.name)


def _model_folder(location: str) -> Path:
    try:
        return backbone.locate(location)
    except UserError as error:
        raise UserError(f"{SOURCE}: {error}") from error
