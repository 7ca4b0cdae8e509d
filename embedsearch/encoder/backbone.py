"""What a backbone's files say of it, before any weight is read."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any, Self

from embedsearch.encoder.tokenizer import load_tokenizer, outer_tokens
from embedsearch.encoder.word_files import ENDINGS, holds_words, word_dim, word_sources
from embedsearch.errors import UserError, first_line

EMBEDDED = ("nano", "nano-t5")
"""Backbones that travel with the package: a BERT and a T5, both small and with random weights."""

_BERT_RATES = ("hidden_dropout_prob", "attention_probs_dropout_prob")
_RATES = {
    "bert": _BERT_RATES,
    "roberta": _BERT_RATES,
    "distilbert": ("dropout", "attention_dropout"),
    "modernbert": ("embedding_dropout", "mlp_dropout", "attention_dropout"),
    "t5": ("dropout_rate",),
}
"""Where an architecture's config holds its dropout rates."""

SUPPORTED = tuple(_RATES)
"""Architectures (``model_type``) whose every dropout, attention's included, a view can set."""

WORD_TABLE = "word table"
"""The architecture of word vectors, which nothing trains."""

_UNCUT = 1 << 30
_T5_TOKENS = 512
_FILES = ["*.json", "*.safetensors", "vocab.txt", "merges.txt", "*.model"]


@dataclass(frozen=True)
class BackboneFacts:
    """What a method must know of a backbone before the start."""

    location: str
    """A folder, or a file of word vectors."""
    architecture: str
    """``model_type`` of its config, one of ``SUPPORTED``; or ``WORD_TABLE``."""
    dim: int
    layers: int
    """Of the encoder; a word table has none."""
    max_tokens: int
    """Longest input, special tokens included; a word table's has no end."""
    dropout: float
    """The highest rate of its own config."""
    opening: str | None
    """The special token before every text (``[CLS]``); T5 has none."""
    closing: str | None
    """The special token behind every text (``[SEP]``, ``</s>``)."""

    @classmethod
    def of_words(cls, location: str, dim: int) -> Self:
        """Those of a word table."""
        return cls(location, WORD_TABLE, dim, 0, _UNCUT, 0.0, None, None)


def locate(location: str) -> Path:
    """Where a backbone is: one of ``EMBEDDED``, a folder, a file of word vectors, or a hub name's
    local copy.

    Raises ``UserError`` where it is none of these, or the hub can't be reached.
    """
    if location in EMBEDDED:
        return Path(str(resources.files("embedsearch") / "data" / "demo" / location))
    path = Path(location).expanduser()
    if path.exists():
        return path.resolve()
    is_path = location.startswith((".", "/", "~")) or location.endswith(ENDINGS)
    if is_path or location.count("/") > 1:
        raise UserError(f"backbone '{location}': there is no such folder or file")
    return _from_hub(location)


def describe(location: str) -> BackboneFacts:
    """Read config and tokenizer of the backbone at ``location``, or the first word of its vectors.

    Raises ``UserError`` for an architecture that is not supported, weights that are not
    safetensors, or a tokenizer that can't be loaded.
    """
    folder = locate(location)
    if holds_words(folder):
        return BackboneFacts.of_words(str(folder), word_dim(folder))
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
    tokenizer = load_tokenizer(str(folder))
    opening, closing = outer_tokens(tokenizer)
    return BackboneFacts(
        location=str(folder),
        architecture=architecture,
        dim=config.hidden_size,
        layers=config.num_hidden_layers,
        max_tokens=_max_tokens(config, tokenizer.model_max_length),
        dropout=max(float(getattr(config, name)) for name in _RATES[architecture]),
        opening=opening,
        closing=closing,
    )


def fingerprint(location: Path) -> str:
    """Names the content of weights, config and tokenizer, or of word vectors, wherever they lie."""
    digest = hashlib.sha256()
    for path in sources(location):
        digest.update(f"{path.name}\0{path.stat().st_size}\0".encode())
        with path.open("rb") as file:
            while block := file.read(1 << 22):
                digest.update(block)
    return digest.hexdigest()[:16]


def sources(location: Path) -> list[Path]:
    """The files that a backbone, or a table of words, is read from."""
    if not location.is_dir():
        return word_sources(location)
    return sorted({path for pattern in _FILES for path in location.glob(pattern)})


def _from_hub(name: str) -> Path:
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(name, allow_patterns=_FILES))
    except Exception as error:
        raise UserError(
            f"backbone '{name}' is neither a folder nor in the local hub cache, and the hub gave: "
            f"{first_line(error)}; give a folder, or 'nano' for an embedded one"
        ) from error


def _config(folder: Path, location: str) -> Any:
    from transformers import AutoConfig

    if not (folder / "config.json").is_file():
        raise UserError(
            f"backbone '{location}': there is no config.json in it; give the folder of a model"
        )
    try:
        return AutoConfig.from_pretrained(folder, trust_remote_code=False)
    except (OSError, ValueError, KeyError) as error:
        raise UserError(
            f"backbone '{location}': {folder}/config.json can't be used: {first_line(error)}"
        ) from error


def _max_tokens(config: Any, tokenizer_limit: int) -> int:
    """RoBERTa counts positions from behind its padding index, so that many are lost.

    T5's positions are relative and have no end: the length it was trained at (``n_positions``), or
    what its tokenizer says, or 512.
    """
    if config.model_type == "t5":
        said = tokenizer_limit if tokenizer_limit < 1_000_000 else _T5_TOKENS
        return int(getattr(config, "n_positions", None) or said)
    positions = int(config.max_position_embeddings)
    return positions - config.pad_token_id - 1 if config.model_type == "roberta" else positions
