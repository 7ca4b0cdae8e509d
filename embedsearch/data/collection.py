"""Collections to search: documents, queries, and which documents are relevant to which query."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from embedsearch.data.counted import counted
from embedsearch.data.formats import json_rows
from embedsearch.data.lines import read_lines
from embedsearch.data.sentences import Cleaner
from embedsearch.errors import UserError

Judgement = tuple[str, str, int]
"""Of a query's id, a document's id: the gain, 0 or less for one that is not relevant."""

_CRANFIELD = ("cran.all.1400", "cran.qry", "cranqrel")
_BEIR = ("corpus.jsonl", "queries.jsonl", "qrels/test.tsv")
_BEST_GRADE = 4
"""Cranfield's grade 4 has the gain 1, and 1, the best, has 4."""


@dataclass(frozen=True, eq=False)
class Collection:
    """Documents and the queries that have a relevant one; words are joined by single spaces."""

    name: str
    documents: tuple[str, ...]
    """A blank one is kept, as an empty text."""
    queries: tuple[str, ...]
    gains: tuple[Mapping[int, int], ...]
    """Of each query: rows of its relevant documents, and the gain of each, 1 at least."""
    fingerprint: str
    """Sixteen hex digits of all of it, in its order."""
    notes: tuple[str, ...]
    """Counts, and what was left out or is odd."""


def read_collection(folder: Path) -> Collection:
    """The collection in ``folder``, in BEIR's layout or in that of Cranfield as distributed.

    Raises ``UserError`` for missing files, a line that can't be read, an id that is there twice,
    or no query with a relevant document.
    """
    if (folder / _BEIR[0]).is_file():
        return _read_beir(folder)
    if (folder / _CRANFIELD[0]).is_file():
        return _read_cranfield(folder)
    raise UserError(
        f"{folder}: it holds neither {', '.join(_BEIR)} nor {', '.join(_CRANFIELD)}; give a folder "
        "with the one or the other"
    )


def collect_judged(
    place: Path,
    documents: Iterable[tuple[str, str]],
    queries: Iterable[tuple[str, str]],
    judgements: Iterable[Judgement],
) -> Collection:
    """Texts by their ids, and judgements, as a collection.

    Left out and counted are judgements that name an unknown document or query, and queries without
    a relevant document. Of two judgements of one query and document the better one counts.
    """
    clean = Cleaner()
    texts = _by_id(place, "document", documents, clean)
    asked = _by_id(place, "query", queries, clean)
    if not texts:
        raise UserError(f"{place}: there is no document in it; give a collection that has some")
    rows = {name: row for row, name in enumerate(texts)}
    found: dict[str, dict[int, int]] = {name: {} for name in asked}
    unknown_queries = unknown_documents = 0
    for query, document, gain in judgements:
        unknown_queries += query not in asked
        unknown_documents += document not in rows
        if query in asked and document in rows and gain > 0:
            known = found[query]
            known[rows[document]] = max(gain, known.get(rows[document], 0))
    kept = [name for name in asked if found[name]]
    if not kept:
        raise UserError(f"{place}: no query has a relevant document; mend queries or judgements")
    gains = tuple(found[name] for name in kept)
    counts = {
        "queries without a relevant document, left out": len(asked) - len(kept),
        "judgements of unknown documents, left out": unknown_documents,
        "judgements of unknown queries, left out": unknown_queries,
        "blank documents": sum(not text for text in texts.values()),
        "blank queries": sum(not asked[name] for name in kept),
        "texts cut": clean.counts.truncated,
    }
    sizes = f"{counted(len(texts), 'document')}, {counted(len(kept), 'query')}"
    sizes += f", {sum(map(len, gains)):,} relevant"
    notes = [f"{what}: {count:,}" for what, count in counts.items() if count]
    content = list(texts.values()), [asked[name] for name in kept], [[*g.items()] for g in gains]
    digest = hashlib.sha256(json.dumps(content).encode()).hexdigest()[:16]
    return Collection(
        place.name, tuple(content[0]), tuple(content[1]), gains, digest, (sizes, *notes)
    )


def _by_id(
    place: Path, what: str, texts: Iterable[tuple[str, str]], clean: Cleaner
) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, text in texts:
        if name in found:
            raise UserError(f"{place}: there are two of {what} '{name}'; remove one of them")
        found[name] = clean(" ".join(text.split())) or ""
    return found


def _read_beir(folder: Path) -> Collection:
    """Title and text are joined by a space, as BEIR does."""
    corpus, queries, judgements = (folder / name for name in _BEIR)
    return collect_judged(
        folder, _texts(corpus), _texts(queries, title=False), _judgements(judgements)
    )


def _texts(path: Path, title: bool = True) -> Iterator[tuple[str, str]]:
    def choose(_place: str, keys: Sequence[str]) -> list[str]:
        return ["_id", *(["title"] if title and "title" in keys else []), "text"]

    for row in json_rows(path, "utf-8", choose):
        if row is not None:
            yield row[0] or "", " ".join(part for part in row[1:] if part)


def _judgements(path: Path) -> Iterator[Judgement]:
    """Query, document and gain between tabs, under a header (or without one: none is a number)."""
    for number, line in enumerate(read_lines(path), start=1):
        if not line.strip():
            continue
        try:
            query, document, gain = line.split("\t")
            yield query, document, int(gain)
        except ValueError:
            if number == 1:
                continue
            raise UserError(
                f"{path}, line {number}: it should have a query, a document and a whole number "
                "between tabs; mend the line"
            ) from None


def _read_cranfield(folder: Path) -> Collection:
    """A document is its ``.W``, which starts with its title (with the title before it where it
    does not).

    A query goes by its place in the file, which is what ``cranqrel`` numbers: its ``.I`` has gaps.
    The gain is 5 - grade for the grades 1 to 4; others, -1 and 5, are not relevant.
    """
    corpus, queries, judgements = (folder / name for name in _CRANFIELD)
    documents = ((name, _titled(*fields)) for name, *fields in _records(corpus))
    asked = ((str(row), text) for row, (_, _, text) in enumerate(_records(queries), start=1))
    return collect_judged(folder, documents, asked, _grades(judgements))


def _titled(title: str, text: str) -> str:
    return text if text.startswith(title) else f"{title} {text}"


def _records(path: Path) -> Iterator[tuple[str, str, str]]:
    """Number, title and text of each record. Behind ``.W`` all that follows is text, and a marker
    there (Cranfield's 240, 576 and 578 have some) is none."""
    number, field = "", ""
    parts: dict[str, list[str]] = {".T": [], ".W": []}

    def record() -> tuple[str, str, str]:
        title, text = (" ".join(" ".join(lines).split()) for lines in parts.values())
        return number, title, text

    for line in read_lines(path):
        mark = line.strip()
        if line.startswith(".I"):
            if number:
                yield record()
            number, field = mark[2:].strip(), ""
            parts = {".T": [], ".W": []}
        elif mark in (".T", ".A", ".B", ".W"):
            field = field if field == ".W" else mark
        elif field in parts:
            parts[field].append(mark)
    if number:
        yield record()


def _grades(path: Path) -> Iterator[Judgement]:
    for number, line in enumerate(read_lines(path), start=1):
        if not line.strip():
            continue
        try:
            query, document, grade = line.split()
            gain = _BEST_GRADE + 1 - int(grade)
        except ValueError:
            raise UserError(
                f"{path}, line {number}: it should have a query, a document and a grade; mend the "
                "line"
            ) from None
        yield query, document, gain if 1 <= gain <= _BEST_GRADE else 0
