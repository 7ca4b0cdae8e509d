"""What stands behind the backbone in a folder of sentence-transformers: its ``modules.json``."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file

from embedsearch.encoder.pooling import LAYERS, layer_weights
from embedsearch.encoder.projection import Activation, Projection
from embedsearch.errors import UserError

ACTIVATIONS: dict[Activation, str] = {
    "tanh": "torch.nn.modules.activation.Tanh",
    "identity": "torch.nn.modules.linear.Identity",
}
"""What a ``Dense`` module calls the activation of a projection."""

_FIRST = ("Transformer", "StaticEmbedding")
_ORDER = (*_FIRST, "WeightedLayerPooling", "Pooling", "Dense", "Normalize")
"""The modules that an encoder can have, each once, and how they follow each other."""

_OLDER = {"cls_token": "cls", "mean_tokens": "mean"}
"""Behind ``pooling_mode_``, where a mode was called otherwise before sentence-transformers 6."""

_MODES = {"cls": "cls", "lasttoken": "eos", "mean": "mean"}
_TEXT_CHANGES = (
    ("sentence_bert_config.json", "do_lower_case"),
    ("config_sentence_transformers.json", "default_prompt_name"),
)
_PLAIN_DENSE = {
    "use_residual": False,
    "module_input_name": "sentence_embedding",
    "module_output_name": "sentence_embedding",
}


@dataclass(frozen=True)
class Saved:
    """How an encoder makes its embedding of hidden states."""

    pooling: str
    projection: Projection | None = None


def read_saved(folder: Path, layers: int) -> Saved | None:
    """What the ``modules.json`` in ``folder`` says; None where there is none.

    ``layers`` are the backbone's. ``WeightedLayerPooling`` over two layers of equal weight becomes
    ``first_last`` or ``top2``, ``Dense`` the projection; the words of a ``StaticEmbedding`` have
    the pooling ``mean``. ``Normalize`` is passed over: it leaves
    every cosine as it is, and embeddings are given with their length. Raises ``UserError`` naming
    the module for anything else.
    """
    if not (folder / "modules.json").is_file():
        return None
    for name, key in _TEXT_CHANGES:
        if (folder / name).is_file() and _json(folder / name).get(key):
            raise _refused(folder / name, f"{key} is set, and texts are embedded as they are")
    modules = _modules(folder)
    if ("Pooling" in modules) is ("StaticEmbedding" in modules):
        raise _refused(
            folder / "modules.json", "a Pooling belongs behind a Transformer, and there alone"
        )
    mode = _mode(modules["Pooling"]) if "Pooling" in modules else "mean"
    if (place := modules.get("WeightedLayerPooling")) is not None:
        if mode != "mean":
            raise _refused(place, f"layers are averaged for mean pooling alone, not for {mode}")
        mode = _layered(place, layers)
    dense = modules.get("Dense")
    return Saved(mode, None if dense is None else _projection(dense))


def _modules(folder: Path) -> dict[str, Path]:
    """The folder of each module by its kind."""
    found: dict[str, Path] = {}
    left = list(_ORDER)
    for module in _json(folder / "modules.json"):
        package, _, kind = str(module["type"]).rpartition(".")
        if kind not in left or not package.startswith("sentence_transformers."):
            raise _refused(
                folder / "modules.json",
                f"module {module['name']}, {module['type']}, is not one of {', '.join(_ORDER)}, "
                "each once and in this order",
            )
        left = left[left.index(kind) + 1 :]
        found[kind] = folder / module["path"]
    if not any(found.get(kind) == folder for kind in _FIRST):
        raise _refused(
            folder / "modules.json", "its first module does not lie in the folder itself"
        )
    return found


def _mode(place: Path) -> str:
    config = _json(place / "config.json")
    older = [
        key.removeprefix("pooling_mode_")
        for key, is_set in config.items()
        if key.startswith("pooling_mode_") and is_set
    ]
    said = config.get("pooling_mode", [_OLDER.get(key, key) for key in older] or "mean")
    modes = [said] if isinstance(said, str) else list(said)
    if len(modes) != 1 or modes[0] not in _MODES:
        raise _refused(place, f"a Pooling by {' and '.join(modes)} is not supported")
    return _MODES[modes[0]]


def _layered(place: Path, layers: int) -> str:
    """The pooling that weighs the layers as the module does."""
    start = int(_json(place / "config.json")["layer_start"])
    weights = torch.zeros(layers + 1)
    weights[start:] = _weights(place)["layer_weights"]
    for pooling in (name for name, averaged in LAYERS.items() if len(averaged) > 1):
        wanted = layer_weights(pooling, layers + 1)
        if torch.equal(weights / weights.sum(), wanted / wanted.sum()):
            return pooling
    raise _refused(place, "a WeightedLayerPooling is read where it is first_last or top2 alone")


def _projection(place: Path) -> Projection:
    config = _json(place / "config.json")
    said = config.get("activation_function", ACTIVATIONS["tanh"])
    activation = next((name for name, path in ACTIVATIONS.items() if path == said), None)
    if activation is None:
        raise _refused(place, f"a Dense with the activation {said} is not supported")
    for key, plain in _PLAIN_DENSE.items():
        if config.get(key, plain) != plain:
            raise _refused(place, f"a Dense with {key} {config[key]} is not supported")
    projection = Projection(config["in_features"], config["out_features"], activation)
    weights = _weights(place)
    weights.setdefault("linear.bias", torch.zeros(projection.width))
    projection.load_state_dict(weights)
    return projection


def _weights(place: Path) -> dict[str, torch.Tensor]:
    path = place / "model.safetensors"
    if not path.is_file():
        raise _refused(place, "there is no model.safetensors, and other formats are not opened")
    return load_file(path)


def _json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise _refused(path, f"it can't be read ({error})") from error


def _refused(place: Path, why: str) -> UserError:
    return UserError(
        f"{place}: {why}; say --pooling cls or mean to take the folder's backbone without the rest"
    )
