"""The state of the generators that masks and noise are drawn from."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor


def random_state() -> dict[str, Tensor]:
    """Of the CPU, and of the current GPU where there is one."""
    state = {"cpu": torch.get_rng_state()}
    if torch.cuda.is_available():
        state["cuda"] = torch.cuda.get_rng_state()
    return state


def set_random_state(state: Mapping[str, Tensor]) -> None:
    """Draw on from a ``random_state``."""
    torch.set_rng_state(state["cpu"])
    if "cuda" in state and torch.cuda.is_available():
        torch.cuda.set_rng_state(state["cuda"])
