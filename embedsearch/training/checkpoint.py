"""What a killed trial goes on from: one folder, written whole or not at all."""

from __future__ import annotations

import json
import logging
import shutil
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from embedsearch.durable import remove_whole, whole_folders, write_whole
from embedsearch.records import Measurement
from embedsearch.training.randomness import random_state, set_random_state
from embedsearch.training.ranks import ALONE, Ranks

VERSION = 2
_log = logging.getLogger(__name__)


@dataclass
class Progress:
    """How far a trial has come, besides its weights."""

    step: int = 0
    start_score: float | None = None
    best_score: float | None = None
    best_step: int | None = None
    history: list[Measurement] = field(default_factory=list)
    seconds: float = 0.0


class Checkpoint:
    """The last state of one running trial, in ``folder``, and the one before it.

    Weights of encoder and heads, the best ones so far, the optimiser's moments and the random
    state are safetensors; progress is JSON. The position in the data is the step. Of several ranks
    the first writes and reads it, for all.
    """

    def __init__(
        self, folder: Path, ranks: Ranks = ALONE, saved: Callable[[], object] = lambda: None
    ) -> None:
        """``saved`` is called after every state that was written."""
        self.folder, self.ranks, self.saved = folder, ranks, saved

    def save(
        self,
        progress: Progress,
        modules: Mapping[str, nn.Module],
        optimiser: torch.optim.Optimizer,
        best: Mapping[str, Tensor],
    ) -> None:
        """Put a new state in place of the last, which becomes the one before it."""
        if not self.ranks.is_first:
            return
        tensors = {
            **{name: _plain(module.state_dict()) for name, module in modules.items()},
            "optimiser": _moments(optimiser),
            "random": random_state(),
            "best": dict(best),
        }
        described = {"version": VERSION, **asdict(progress)}

        def write(draft: Path) -> None:
            draft.mkdir()
            for name, values in tensors.items():
                save_file(values, draft / f"{name}.safetensors")
            (draft / "progress.json").write_text(json.dumps(described), encoding="utf-8")

        write_whole(self.folder, write, keep_predecessor=True)
        self.saved()

    def restore(
        self, modules: Mapping[str, nn.Module], optimiser: torch.optim.Optimizer
    ) -> tuple[Progress, dict[str, Tensor]] | None:
        """Load the last state that can be read into ``modules`` and ``optimiser``.

        Gives the progress and the best weights; None where there is no state to go on
        from. One that is damaged or another version's is removed with a warning, and the one
        before it is used.
        """
        found = self.ranks.first(lambda: self._last(modules))
        if found is None:
            return None
        progress, tensors = found
        for name, module in modules.items():
            module.load_state_dict(tensors[name])
        _set_moments(optimiser, tensors["optimiser"])
        set_random_state(tensors["random"])
        return progress, tensors["best"]

    def _last(
        self, modules: Mapping[str, nn.Module]
    ) -> tuple[Progress, dict[str, dict[str, Tensor]]] | None:
        for folder in whole_folders(self.folder):
            try:
                return _read(folder, modules)
            except (OSError, ValueError, KeyError, TypeError, SafetensorError) as error:
                text = "%s can't be read (%s); the trial goes on from the state before it, if any"
                _log.warning(text, folder, error)
                shutil.rmtree(folder)
        return None

    def remove(self) -> None:
        """Forget all states; a finished trial needs none."""
        remove_whole(self.folder)


def _read(
    folder: Path, modules: Mapping[str, nn.Module]
) -> tuple[Progress, dict[str, dict[str, Tensor]]]:
    """All of a state, judged before anything is loaded from it."""
    progress = _read_progress(folder / "progress.json")
    names = [*modules, "optimiser", "random", "best"]
    tensors = {name: load_file(folder / f"{name}.safetensors") for name in names}
    for name, module in modules.items():
        wanted = {key: value.shape for key, value in module.state_dict().items()}
        if {key: value.shape for key, value in tensors[name].items()} != wanted:
            raise ValueError(f"its {name} has other weights")
    if "cpu" not in tensors["random"]:
        raise ValueError("it has no random state")
    return progress, tensors


def _read_progress(path: Path) -> Progress:
    value: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    if value.pop("version") != VERSION:
        raise ValueError("it was written by another version")
    history = [Measurement(**item) for item in value.pop("history")]
    return Progress(**value, history=history)


def _plain(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Tensors of their own storage, as safetensors wants them."""
    return {name: value.detach().cpu().clone().contiguous() for name, value in state.items()}


def _moments(optimiser: torch.optim.Optimizer) -> dict[str, Tensor]:
    state = optimiser.state_dict()["state"]
    return {
        f"{index}/{name}": value.detach().cpu().clone()
        for index, values in state.items()
        for name, value in values.items()
    }


def _set_moments(optimiser: torch.optim.Optimizer, moments: Mapping[str, Tensor]) -> None:
    state: dict[int, dict[str, Tensor]] = {}
    for key, value in moments.items():
        index, name = key.split("/", 1)
        state.setdefault(int(index), {})[name] = value
    optimiser.load_state_dict({**optimiser.state_dict(), "state": state})
