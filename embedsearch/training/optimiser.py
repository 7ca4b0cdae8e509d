"""The optimiser of every method: AdamW, fused."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import torch
from torch import nn

from embedsearch.methods.base import ParameterGroup
from embedsearch.training.schedule import rate_factor


def make_optimiser(groups: Iterable[ParameterGroup], weight_decay: float) -> torch.optim.AdamW:
    """AdamW over ``groups``, each at its own peak rate, without decay on biases and norms.

    The papers print Adam, which is AdamW with ``weight_decay`` 0. Betas (0.9, 0.999), eps 1e-8.
    """
    return torch.optim.AdamW(
        [part for group in groups for part in _by_decay(group, weight_decay)], fused=True
    )


def set_rates(optimiser: torch.optim.Optimizer, step: int, total: int, *shape: object) -> None:
    """Set each group to its peak rate times the schedule's factor at ``step``.

    ``shape`` is the schedule's name and its warm-up ratio.
    """
    factor = rate_factor(step, total, *shape)  # type: ignore[arg-type]
    for group in optimiser.param_groups:
        group["lr"] = group["peak_lr"] * factor


def _by_decay(group: ParameterGroup, weight_decay: float) -> Iterator[dict[str, object]]:
    trained = [p for p in group.parameters if p.requires_grad]
    parts: list[tuple[list[nn.Parameter], float]] = [
        ([p for p in trained if p.ndim >= 2], weight_decay),
        ([p for p in trained if p.ndim < 2], 0.0),
    ]
    for params, decay in parts:
        if params:
            rate = group.learning_rate
            yield {"params": params, "weight_decay": decay, "lr": rate, "peak_lr": rate}
