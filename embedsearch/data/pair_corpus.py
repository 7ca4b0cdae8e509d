"""The pairs that GUR trains on: mined once, shuffled, and kept as memory-mapped Arrow."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, get_args, overload

import numpy as np
from filelock import FileLock
from numpy.typing import NDArray

from embedsearch.data.corpus import Rows
from embedsearch.data.documents import Documents
from embedsearch.data.library import quiet_datasets
from embedsearch.data.mining import Kind, Mining, Pair
from embedsearch.data.pair_stream import mine
from embedsearch.data.shuffle import Shuffle
from embedsearch.durable import write_json, write_whole
from embedsearch.errors import UserError
from embedsearch.records import content_id

_VERSION = 2
"""Of mining; raised when the same documents would give other pairs."""

_CHUNK = 10_000
_COLUMNS = Pair._fields[2:]


@dataclass(frozen=True)
class MiningCounts:
    """What became of the documents, and of the pairs of sentences in them."""

    documents: int
    """All that were read, usable or not."""
    untitled: int
    """Skipped: without a title."""
    empty: int
    """Skipped: a title without a text."""
    nul: int
    """Titles and texts that had NUL characters, which were removed."""
    sentences: int
    """Titles included."""
    alike: int
    """Pairs of sentences with enough in common."""
    used_up: int
    """Of these left out: one sentence was in as many pairs as it may be."""
    identical: int
    """Of these left out: both say the same."""
    duplicates: int
    """Of these left out: the pair was there already."""
    title_duplicates: int
    """Documents that were there already, with their titles."""

    def __str__(self) -> str:
        told = {
            "without a title skipped": self.untitled,
            "without a text skipped": self.empty,
            "with NUL removed": self.nul,
            "twice": self.title_duplicates,
        }
        notes = ", ".join(f"{count:,} {what}" for what, count in told.items() if count)
        found = self.alike - self.used_up - self.identical
        return (
            f"{self.documents:,} documents{f' ({notes})' if notes else ''}, "
            f"{self.sentences:,} sentences, {found:,} pairs of {self.alike:,} alike "
            f"({self.used_up:,} of used-up sentences and {self.identical:,} identical left out), "
            f"{found - self.duplicates:,} without duplicates"
        )


@dataclass(frozen=True, eq=False)
class PairCorpus(Sequence[tuple[str, str]]):
    """Pairs of texts on disk, in shuffled order, none twice. Rows are read when asked for.

    ``first`` and ``second`` are a sentence each, or a document's beginning and its title.
    """

    name: str
    fingerprint: str
    """Sixteen hex digits of the pairs and their order."""
    bucket: int
    """About how many tokens the texts have at most: the length to train at."""
    rows: int
    file: Path

    def __len__(self) -> int:
        return self.rows

    @overload
    def __getitem__(self, rows: int) -> tuple[str, str]: ...
    @overload
    def __getitem__(self, rows: Rows) -> list[tuple[str, str]]: ...
    def __getitem__(self, rows: int | Rows) -> tuple[str, str] | list[tuple[str, str]]:
        """``(first, second)`` of one row, or a list of those of several, in the order asked for."""
        found = self._table[rows]
        if isinstance(found["first"], str):
            return found["first"], found["second"]
        return list(zip(found["first"], found["second"], strict=True))

    def sentences(self, rows: Rows) -> NDArray[np.int64]:
        """What names the sentences that the texts of these rows are of, or crops of: (rows, 2)."""
        found = self._table[rows]
        return np.array([found[name] for name in _COLUMNS[2:]], dtype=np.int64).T

    def __iter__(self) -> Iterator[tuple[str, str]]:
        for batch in self._table.iter(batch_size=1_000):
            yield from zip(batch["first"], batch["second"], strict=True)

    @cached_property
    def _table(self) -> Any:
        with quiet_datasets() as datasets:
            return datasets.Dataset.from_file(str(self.file))


@dataclass(frozen=True)
class MinedPairs:
    """All pairs of some documents: of sentences by length bucket, and of documents and titles."""

    name: str
    short: PairCorpus
    long: PairCorpus
    titles: PairCorpus
    counts: MiningCounts
    folder: Path

    @classmethod
    def at(cls, folder: Path, name: str = "") -> MinedPairs:
        """The pairs that ``mine_pairs`` keeps in ``folder``: another process's, opened again."""
        facts = json.loads((folder / "facts.json").read_text(encoding="utf-8"))
        kinds = {
            kind: PairCorpus(f"{name}-{kind}", **told, file=folder / f"{kind}.arrow")
            for kind, told in facts["kinds"].items()
        }
        return cls(name, **kinds, counts=MiningCounts(**facts["counts"]), folder=folder)


def mine_pairs(
    documents: Documents,
    mining: Mining | None = None,
    *,
    cache: Path,
    seed: int = 0,
    workers: int = 1,
    progress: Callable[[int], None] | None = None,
) -> MinedPairs:
    """The pairs of ``documents``, mined into ``cache`` and found there after that.

    They are keyed by the documents, every parameter and the seed; the number of ``workers`` changes
    nothing. Several processes may ask at once, and one mines. ``progress`` is told now and then how
    many documents are done.

    Raises ``UserError`` where no two sentences make a pair, and for what the documents raise.
    """
    mining = mining or Mining()
    parameters = asdict(mining)
    parameters["weights"]["glue"] = sorted(mining.weights.glue)
    folder = cache / "pairs" / content_id([_VERSION, documents.fingerprint, parameters, seed])
    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(folder.with_suffix(".lock")):
        if not folder.is_dir():
            write_whole(
                folder, lambda draft: _write(draft, documents, mining, seed, workers, progress)
            )
    pairs = MinedPairs.at(folder, documents.name)
    if not (len(pairs.short) or len(pairs.long)):
        raise UserError(
            f"documents '{documents.name}': no two sentences of a document make a pair "
            f"({pairs.counts}); give more text or lower the overlaps"
        )
    return pairs


def _write(
    folder: Path,
    documents: Documents,
    mining: Mining,
    seed: int,
    workers: int,
    progress: Callable[[int], None] | None,
) -> None:
    folder.mkdir()
    shuffles: dict[Kind, Shuffle] = {
        kind: Shuffle(folder / f"{kind}.runs") for kind in get_args(Kind)
    }
    tally: Counter[str] = Counter()
    for pairs, counted in mine(documents, mining, seed, workers):
        tally.update(counted)
        for pair in pairs:
            shuffles[pair.kind].add(pair.key, "\t".join(map(str, pair[2:])))
        if progress:
            progress(tally["documents"])
    told = {}
    for kind, shuffle in shuffles.items():
        told[kind] = _store(folder / f"{kind}.arrow", shuffle) | {"bucket": mining.tokens(kind)}
        shutil.rmtree(folder / f"{kind}.runs", ignore_errors=True)
    tally["duplicates"] = shuffles["short"].duplicates + shuffles["long"].duplicates
    tally["title_duplicates"] = shuffles["titles"].duplicates
    counts = {name: tally[name] for name in MiningCounts.__dataclass_fields__}
    write_json(folder / "facts.json", {"kinds": told, "counts": counts})


def _store(file: Path, shuffle: Shuffle) -> dict[str, Any]:
    """Write the lines of ``shuffle`` as pairs; gives how many there are, and their fingerprint."""
    rows, digest, lines = 0, hashlib.sha256(), shuffle.drain()
    with quiet_datasets() as datasets:
        text, number = datasets.Value("string"), datasets.Value("int64")
        columns = dict(zip(_COLUMNS, (text, text, number, number), strict=True))
        writer = datasets.arrow_writer.ArrowWriter(
            path=str(file),
            features=datasets.Features(columns),
            writer_batch_size=_CHUNK,
        )
        while chunk := list(islice(lines, _CHUNK)):
            first, second, *numbers = zip(*(line.split("\t") for line in chunk), strict=True)
            both = (list(map(int, side)) for side in numbers)
            writer.write_batch(dict(zip(_COLUMNS, (first, second, *both), strict=True)))
            digest.update("\0".join([*chunk, ""]).encode())
            rows += len(chunk)
        writer.finalize()
    return {"rows": rows, "fingerprint": digest.hexdigest()[:16]}
