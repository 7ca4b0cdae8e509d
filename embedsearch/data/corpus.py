"""The sentences a trial trains on: any file or hub data set, kept as memory-mapped Arrow."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, overload

import numpy as np
from filelock import FileLock
from numpy.typing import NDArray

from embedsearch.data.formats import Format, detect_format, table_column, texts
from embedsearch.data.library import HUB_PREFIX, HubName, quiet_datasets
from embedsearch.data.sentences import MAX_CHARACTERS, Cleaner, Counts
from embedsearch.durable import write_json, write_whole
from embedsearch.errors import UserError
from embedsearch.records import content_id

DEMO = "demo"
DEMO_FOLDER = Path(__file__).with_name("demo")

_READING = 1
"""Version of how files become sentences; raised when the same file would give others."""

_CHUNK = 10_000

Rows = slice | Sequence[int] | NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Corpus(Sequence[str]):
    """Sentences on disk, none of them blank. Rows are read when asked for, so 10⁷ are no burden."""

    name: str
    fingerprint: str
    """Sixteen hex digits of the sentences and their order, whatever file they came in."""
    counts: Counts
    folder: Path

    @classmethod
    def at(cls, folder: Path, name: str = "") -> Corpus:
        """The corpus that ``open_corpus`` keeps in ``folder``: another process's, opened again."""
        facts = json.loads((folder / "facts.json").read_text(encoding="utf-8"))
        return cls(name, facts["fingerprint"], Counts(**facts["counts"]), folder)

    def __len__(self) -> int:
        return self.counts.kept

    @overload
    def __getitem__(self, rows: int) -> str: ...
    @overload
    def __getitem__(self, rows: Rows) -> list[str]: ...
    def __getitem__(self, rows: int | Rows) -> str | list[str]:
        """The sentence of one row, or a list of those of several, in the order asked for."""
        found: str | list[str] = self._table[rows]["text"]
        return found

    def __iter__(self) -> Iterator[str]:
        for batch in self._table.iter(batch_size=1_000):
            yield from batch["text"]

    @cached_property
    def _table(self) -> Any:
        with quiet_datasets() as datasets:
            return datasets.Dataset.from_file(str(self.folder / "sentences.arrow"))


def open_corpus(
    location: str | Path,
    *,
    cache: Path,
    encoding: str = "utf-8",
    column: str | None = None,
    format: Format | None = None,
) -> Corpus:
    """The corpus at ``location``, read once into ``cache`` and found there by its bytes after that.

    ``location`` is ``demo``, a file, or ``hf:NAME[:CONFIG[:SPLIT]][#COLUMN]`` (split ``train``).
    A file is text (a sentence a line), JSON Lines, CSV, TSV or Parquet: its contents say which,
    unless ``format`` does. ``column`` is where the sentences are; a sole column, ``sentence`` or
    ``text`` is found without. Several processes may open the same corpus at once.

    Raises ``UserError`` for what is missing, undecodable, malformed or holds no sentence.
    """
    if str(location).startswith(HUB_PREFIX):
        hub = HubName.parse(str(location), split="train")
        table = hub.load()
        key = content_id([_READING, MAX_CHARACTERS, table._fingerprint, column or hub.column])
        folder = cache / "corpora" / key
        source = table_column(table, str(location), column or hub.column)
        return keep_corpus(folder, hub.name, source)
    path = DEMO_FOLDER / "sentences.txt" if location == DEMO else Path(location).expanduser()
    if not path.is_file():
        kind = "a folder" if path.is_dir() else "no file"
        raise UserError(f"corpus '{location}' is {kind}; give a file, demo or hf:NAME")
    format = format or detect_format(path, encoding)
    key = content_id([_READING, MAX_CHARACTERS, file_digest(path), format, encoding, column])
    folder = cache / "corpora" / key
    folder.parent.mkdir(parents=True, exist_ok=True)
    name = DEMO if location == DEMO else path.name
    return keep_corpus(folder, name, texts(path, format, encoding, column, scratch=folder.parent))


def keep_corpus(
    folder: Path, name: str, source: Iterable[str | None], *, rows_wanted: int | None = None
) -> Corpus:
    """The corpus in ``folder``; if it is not there yet, ``source`` is written to it first.

    Where its rows must be those of another corpus, ``rows_wanted`` is how many these are.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(folder.with_suffix(".lock")):
        if not folder.is_dir():
            write_whole(folder, lambda draft: _write(draft, source, rows_wanted))
    corpus = Corpus.at(folder, name)
    if not len(corpus):
        raise UserError(f"corpus '{name}' holds no sentence; give one that does")
    return corpus


def _write(folder: Path, source: Iterable[str | None], rows_wanted: int | None) -> None:
    folder.mkdir()
    clean, digest = Cleaner(), hashlib.sha256()
    kept = (text for text in map(clean, source) if text is not None)
    with quiet_datasets() as datasets:
        features = datasets.Features({"text": datasets.Value("string")})
        writer = datasets.arrow_writer.ArrowWriter(
            path=str(folder / "sentences.arrow"), features=features, writer_batch_size=_CHUNK
        )
        while chunk := list(islice(kept, _CHUNK)):
            writer.write_batch({"text": chunk})
            digest.update("\0".join([*chunk, ""]).encode())
        writer.finalize()
    if rows_wanted not in (None, clean.counts.kept):
        raise ValueError(f"{clean.counts.kept} rows were made where {rows_wanted} belong")
    facts = {"fingerprint": digest.hexdigest()[:16], "counts": asdict(clean.counts)}
    write_json(folder / "facts.json", facts)


def file_digest(path: Path) -> str:
    """SHA-256 of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
