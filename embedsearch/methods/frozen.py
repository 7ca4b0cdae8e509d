"""Any encoder as it is: the floor of every table."""

from __future__ import annotations

from typing import ClassVar, Literal

from embedsearch.encoder.backbone import SUPPORTED, WORD_TABLE
from embedsearch.methods.base import Method, MethodConfig, Needs, Pooling


class FrozenConfig(MethodConfig):
    """Only the pooling matters; nothing is trained."""

    pooling: Pooling | Literal["static"] = "mean"  # type: ignore[assignment]
    """``static`` is the mean of a transformer's input embeddings, of words alone."""


class Frozen(Method):
    """Scores the backbone untrained, so its trial is the one evaluation before the first step.

    Word vectors are a backbone here: every known word of a text is in the mean, as in SentEval's
    own baseline, where sentence-transformers' ``WordEmbeddings`` leaves out stop words.
    """

    Config: ClassVar[type[MethodConfig]] = FrozenConfig
    architectures: ClassVar[tuple[str, ...]] = (*SUPPORTED, WORD_TABLE)
    needs: ClassVar[Needs] = "nothing"
