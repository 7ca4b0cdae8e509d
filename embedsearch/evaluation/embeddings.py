"""Embeddings of many texts: each distinct one encoded once, and kept for the next call."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save
from torch import Tensor

from embedsearch.durable import remove_drafts, write_whole

TOGETHER = 2048
"""Texts of like length encoded and written in one go: what a kill can lose."""

_DIGEST = 16
"""Bytes of a text's hash."""

Progress = Callable[[int, int], None]
"""How many texts of how many are embedded."""


class Embeddings:
    """Looks embeddings up by text, (texts, dim) float32; ``encode`` makes those it lacks.

    With a ``folder`` they stay there, in files that are whole or not there; it must be this
    encoder's own (``encode`` gives the same vector for the same text, whoever calls it).
    """

    def __init__(
        self, encode: Callable[[Sequence[str]], Tensor], folder: Path | None = None
    ) -> None:
        self._encode = encode
        self._folder = folder
        self._rows: dict[bytes, NDArray[np.float32]] = {}
        self.encoded = 0
        """Texts that were encoded by this object; the others were known."""
        if folder and folder.is_dir():
            for file in sorted(folder.glob("*.safetensors")):
                self._read(file)
            os.utime(folder)  # the least recently used folder is the first to go

    def __call__(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """The embeddings of ``texts``, in their order."""
        self.prepare(texts)
        if not texts:
            return np.empty((0, 0), dtype=np.float32)
        return np.stack([self._rows[_digest(text)] for text in texts])

    def missing(self, texts: Iterable[str]) -> int:
        """How many distinct ones of ``texts`` are not known."""
        return len({digest for text in texts if (digest := _digest(text)) not in self._rows})

    def prepare(self, texts: Iterable[str], progress: Progress = lambda done, total: None) -> None:
        """Encode what is not known of ``texts``, the longest first: what runs out of memory does
        so at once."""
        missing = {digest: text for text in texts if (digest := _digest(text)) not in self._rows}
        longest_first = sorted(missing.items(), key=lambda item: -len(item[1]))
        for start in range(0, len(longest_first), TOGETHER):
            part = longest_first[start : start + TOGETHER]
            progress(start, len(missing))
            vectors = self._encode([text for _, text in part]).float().cpu().numpy()
            self._keep([digest for digest, _ in part], vectors)
        self.encoded += len(missing)
        progress(len(missing), len(missing))

    def _keep(self, digests: Sequence[bytes], vectors: NDArray[np.float32]) -> None:
        self._rows.update(zip(digests, vectors, strict=True))
        if self._folder is None:
            return
        keys = np.frombuffer(b"".join(digests), dtype=np.uint8).reshape(-1, _DIGEST)
        name = hashlib.sha256(keys.tobytes()).hexdigest()[:16]
        target = self._folder / f"{name}.safetensors"
        content = save({"keys": keys, "vectors": vectors})
        write_whole(target, lambda draft: draft.write_bytes(content))  # a full disk: an OSError

    def _read(self, file: Path) -> None:
        """A file that can't be read is encoded anew."""
        try:
            with safe_open(file, framework="numpy") as held:
                keys, vectors = held.get_tensor("keys"), held.get_tensor("vectors")
        except (SafetensorError, OSError, KeyError):
            return
        self._rows.update((key.tobytes(), row) for key, row in zip(keys, vectors, strict=True))


def bound(folder: Path, limit_bytes: int) -> None:
    """Remove the least recently used of the encoders' folders in ``folder`` until all fit."""
    held = sorted(
        (path for path in folder.glob("*") if path.is_dir()), key=lambda path: path.stat().st_mtime
    )
    sizes = [sum(file.stat().st_size for file in path.iterdir()) for path in held]
    total = sum(sizes)
    for path, size in zip(held[:-1], sizes[:-1], strict=True):
        if total <= limit_bytes:
            return
        for file in path.iterdir():
            file.unlink(missing_ok=True)
        remove_drafts(path)
        path.rmdir()
        total -= size


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()[:_DIGEST]
