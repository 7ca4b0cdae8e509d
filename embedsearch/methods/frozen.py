"""Any encoder as it is: the floor of every table."""

from __future__ import annotations

from typing import ClassVar

from embedsearch.methods.base import Method, MethodConfig, Needs, Pooling


class FrozenConfig(MethodConfig):
    """Only the pooling matters; nothing is trained."""

    pooling: Pooling = "mean"


class Frozen(Method):
    """Scores the backbone untrained, so its trial is the one evaluation before the first step."""

    Config: ClassVar[type[MethodConfig]] = FrozenConfig
    needs: ClassVar[Needs] = "nothing"
