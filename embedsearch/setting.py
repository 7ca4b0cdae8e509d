"""What all trials of one command share, and what it makes of a point: a spec."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from embedsearch import feed
from embedsearch.encoder.backbone import BackboneFacts
from embedsearch.errors import UserError
from embedsearch.methods.base import Method, MethodConfig, resolve
from embedsearch.records import NUMERICS, Point, Source, TrialSpec, content_id


@dataclass(frozen=True)
class Setting:
    """With a point it makes a spec."""

    preset: str
    backbone: Source
    facts: BackboneFacts
    corpus: Source
    rows: int
    """Sentences in the corpus, or documents where the method needs pairs."""
    dev: Source
    steps: int | None
    epochs: float | None
    eval_steps: int
    seed: int
    device: str
    precision: str
    threads: int
    cache: Path
    """Where an epoch of pairs is mined."""
    chunk_size: int | None = None
    """Rows that a device encodes at once; None for all of a batch."""
    ranks: int = 1
    """Devices that share each batch."""

    @property
    def divides(self) -> bool:
        """Whether batches may be computed in parts."""
        return self.chunk_size is not None or self.ranks > 1

    def spec(self, point: Point) -> TrialSpec:
        """The trial of ``point``; ``UserError`` where the point can't work on the backbone."""
        method = resolve(point.target)
        config = method.Config(**point.values)
        method.check(config, self.facts)
        trains = method.needs != "nothing"
        return TrialSpec(
            point=point.reading(config.sources()),
            seed=self.seed,
            preset=self.preset,
            backbone=self.backbone,
            corpus=self.corpus if trains else Source("", "", "none"),
            dev=self.dev,
            total_steps=self._total_steps(method, config),
            eval_steps=self.eval_steps,
            device=self.device,
            precision=self.precision,
            threads=self.threads,
            code=_code_of(method),
            **self._division(method, config),
        )

    def _division(self, method: type[Method], config: MethodConfig) -> dict[str, Any]:
        """How batches are divided: not at all where nothing is trained or all of them fit.

        Raises ``UserError`` where the method's can't be.
        """
        chunk_size, ranks = self.chunk_size, self.ranks
        if chunk_size is not None and chunk_size * ranks >= config.batch_size:
            chunk_size = None
        if method.needs == "nothing" or method.fitted or (chunk_size is None and ranks == 1):
            return {}
        if method.indivisible:
            raise UserError(
                f"{method.__name__} wants each batch whole ({method.indivisible}): leave out "
                "--chunk-size, and give a trial one device"
            )
        return {"chunk_size": chunk_size, "ranks": ranks}

    def _total_steps(self, method: type[Method], config: MethodConfig) -> int:
        """Pairs are mined for their number only where the length is said in epochs of them."""
        if method.needs == "nothing":
            return 0
        if method.fitted:
            return 1
        if method.needs == "pairs" and self.steps is not None:
            return self.steps
        an_epoch = feed.steps_per_epoch(
            method, config, self.corpus, self.rows, self.seed, self.cache
        )
        return self.steps or max(1, math.floor((self.epochs or 1) * an_epoch))


def _code_of(method: type[Method]) -> str:
    """What a method's module says, so that an edited one is another; of the package's own its
    ``revision``, empty for the first."""
    module = sys.modules[method.__module__]
    if module.__name__.startswith("embedsearch.") or not module.__file__:
        return f"revision {method.revision}" if method.revision else ""
    return content_id(Path(module.__file__).read_text(encoding="utf-8"))


def check_current(spec: TrialSpec) -> None:
    """Raise ``UserError`` where a stored ``spec`` would be run by another code than it was."""
    if spec.numerics != NUMERICS or spec.code != _code_of(resolve(spec.point.target)):
        raise UserError(
            f"{spec.point.method} has changed since its trials were run, so that the same values "
            "score otherwise: run its search again"
        )
