"""The learning rate as a function of the step alone, so that nothing has to be kept to go on."""

from __future__ import annotations

import math


def rate_factor(step: int, total_steps: int, schedule: str, warmup_ratio: float) -> float:
    """What the peak learning rate is multiplied by in optimiser step ``step`` (1 is the first).

    A linear warm-up over ``warmup_ratio`` of the steps, then ``constant``, ``linear`` decay to 0
    just behind the last step, or half a ``cosine`` to there.
    """
    done = step - 1
    warmup_steps = round(total_steps * warmup_ratio)
    if done < warmup_steps:
        return (done + 1) / (warmup_steps + 1)
    progress = (done - warmup_steps) / max(1, total_steps - warmup_steps)
    if schedule == "linear":
        return 1 - progress
    if schedule == "cosine":
        return (1 + math.cos(math.pi * progress)) / 2
    return 1.0
