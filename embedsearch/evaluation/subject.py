"""An encoder to be evaluated, loaded only where its embeddings are not known already."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import torch
from torch import Tensor

from embedsearch.encoder.backbone import BackboneFacts, describe, fingerprint
from embedsearch.encoder.model import Encoder, saved_under
from embedsearch.encoder.saved import Saved
from embedsearch.errors import UserError
from embedsearch.evaluation.embeddings import Embeddings, bound
from embedsearch.evaluation.task import Subject
from embedsearch.records import NUMERICS, content_id

KEPT_BYTES = 8 << 30
"""What all encoders' kept embeddings may take together; the least recently used go first."""


@dataclass(frozen=True)
class Opened:
    """A subject, its embeddings, and what it is."""

    subject: Subject
    embeddings: Embeddings
    key: str
    """Names all that decides an embedding: files, pooling, device kind, precision, numerics."""
    said: str
    """One line on what was chosen."""
    is_own: bool
    """Whether its embeddings are made as its folder says."""


def open_subject(
    location: str, pooling: str | None, *, device: str, precision: str, cache_folder: Path | None
) -> Opened:
    """The encoder at ``location``, with embeddings kept below ``cache_folder``.

    ``pooling``: None for the folder's own. ``device`` and ``precision`` may be ``auto``, which is
    what training takes. Raises ``UserError`` for what can't be.
    """
    device = _device(device)
    precision = _precision(precision, device)
    facts = describe(location)
    saved, own = saved_under(pooling, location, facts), _own(location, facts)
    if own == saved:
        pooling = None  # said or not, it is the same encoder
    key = content_id([_content(Path(facts.location)), pooling, device, precision, NUMERICS])

    @cache
    def encoder() -> Encoder:
        return Encoder.load(location, pooling).to(device).eval()

    folder = cache_folder / key if cache_folder else None
    embeddings = Embeddings(_encode(encoder, device, precision), folder)
    if cache_folder:
        bound(cache_folder, KEPT_BYTES)
    how = f"{saved.pooling} pooling{_than(own) if pooling else ', its own'}"
    threads = torch.get_num_threads()
    said = f"{facts.architecture}, {how} · {device} {precision}, {threads} CPU"
    return Opened(Subject(embeddings, encoder), embeddings, key, said, pooling is None)


def _own(location: str, facts: BackboneFacts) -> Saved | None:
    """What the folder says; None where it says nothing, or nothing that can be followed."""
    try:
        return saved_under(None, location, facts)
    except UserError:
        return None


def _than(own: Saved | None) -> str:
    if own is None:
        return ""
    return f", not its own {own.pooling}{' and projection' if own.projection else ''}"


def _encode(
    encoder: Callable[[], Encoder], device: str, precision: str
) -> Callable[[Sequence[str]], Tensor]:
    def encode(texts: Sequence[str]) -> Tensor:
        with torch.autocast(device, dtype=torch.bfloat16, enabled=precision == "bf16"):
            return encoder().embed(texts)

    return encode


def _content(location: Path) -> str:
    """Of a backbone's files and those of the modules behind it, which have folders of their own."""
    folders = sorted(path for path in location.glob("*") if path.is_dir())
    return content_id([fingerprint(path) for path in (location, *folders)])


def _precision(wanted: str, device: str) -> str:
    if wanted not in ("auto", "fp32", "bf16"):
        raise UserError(f"there is no precision '{wanted}': take auto, fp32 or bf16")
    return ("bf16" if device == "cuda" else "fp32") if wanted == "auto" else wanted


def _device(wanted: str) -> str:
    if wanted not in ("auto", "cpu", "cuda"):
        raise UserError(f"there is no device '{wanted}': take auto, cpu or cuda")
    has_gpu = torch.cuda.is_available()
    if wanted == "cuda" and not has_gpu:
        raise UserError("device cuda: there is no GPU here; give --device cpu")
    return ("cuda" if has_gpu else "cpu") if wanted == "auto" else wanted
