"""What a backbone's files say of it, before any weight is read."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from embedsearch.errors import UserError

SUPPORTED = ("bert", "roberta", "distilbert")
"""Architectures (``model_type``) whose every dropout, attention's included, a view can set."""

_FILES = ["*.json", "*.safetensors", "vocab.txt", "merges.txt", "*.model"]


@dataclass(frozen=True)
class BackboneFacts:
    """What a method must know of a backbone before the start."""

    location: str
    """A folder."""
    architecture: str
    """``model_type`` of its config, one of ``SUPPORTED``."""
    dim: int
    layers: int
    max_tokens: int
    """Longest input, special tokens included."""
    dropout: float
    """The highest rate of its own config."""


def locate(location: str) -> Path:
    """The folder of a backbone: ``nano`` (embedded), a folder, or a hub name's local copy.

    Raises ``UserError`` where it is none of these, or the hub can't be reached.
    """
    if location == "nano":
        return Path(str(resources.files("embedsearch") / "data" / "demo" / "nano"))
    folder = Path(location).expanduser()
    if folder.is_dir():
        return folder.resolve()
    if location.startswith((".", "/", "~")) or location.count("/") > 1:
        raise UserError(f"backbone '{location}': there is no such folder")
    return _from_hub(location)


def describe(location: str) -> BackboneFacts:
    """Read the config of the backbone at ``location``.

    Raises ``UserError`` for an architecture that is not supported, or weights that are not
    safetensors.
    """
    folder = locate(location)
    config = _config(folder, location)
    architecture = str(config.model_type)
    if architecture not in SUPPORTED:
        known = ", ".join(SUPPORTED)
        raise UserError(f"backbone '{location}' is of type '{architecture}'; supported are {known}")
    if not any(folder.glob("*.safetensors")):
        raise UserError(
            f"backbone '{location}': {folder} holds no *.safetensors; other formats are not "
            "opened, so save it once with transformers' save_pretrained"
        )
    return BackboneFacts(
        location=str(folder),
        architecture=architecture,
        dim=config.hidden_size,
        layers=config.num_hidden_layers,
        max_tokens=_max_tokens(config),
        dropout=max(_rates(config)),
    )


def fingerprint(folder: Path) -> str:
    """Names the content of weights, config and tokenizer, wherever they lie."""
    digest = hashlib.sha256()
    for path in sorted({path for pattern in _FILES for path in folder.glob(pattern)}):
        digest.update(f"{path.name}\0{path.stat().st_size}\0".encode())
        with path.open("rb") as file:
            while block := file.read(1 << 22):
                digest.update(block)
    return digest.hexdigest()[:16]


def _from_hub(name: str) -> Path:
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(name, allow_patterns=_FILES))
    except Exception as error:
        raise UserError(
            f"backbone '{name}' is neither a folder nor in the local hub cache, and the hub gave: "
            f"{_first_line(error)}; give a folder, or 'nano' for the embedded one"
        ) from error


def _config(folder: Path, location: str) -> Any:
    from transformers import AutoConfig

    try:
        return AutoConfig.from_pretrained(folder, trust_remote_code=False)
    except (OSError, ValueError, KeyError) as error:
        raise UserError(
            f"backbone '{location}': {folder}/config.json can't be used: {_first_line(error)}"
        ) from error


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def _max_tokens(config: Any) -> int:
    """RoBERTa counts positions from behind its padding index, so that many are lost."""
    positions = int(config.max_position_embeddings)
    return positions - config.pad_token_id - 1 if config.model_type == "roberta" else positions


def _rates(config: Any) -> tuple[float, float]:
    if config.model_type == "distilbert":
        return float(config.dropout), float(config.attention_dropout)
    return float(config.hidden_dropout_prob), float(config.attention_probs_dropout_prob)
