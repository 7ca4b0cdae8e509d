"""Documents with titles: read one at a time, from a file or a hub data set."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Literal, get_args

from filelock import FileLock

from embedsearch.data.corpus import DEMO, DEMO_FOLDER, Corpus, file_digest, keep_corpus
from embedsearch.data.formats import detect_format, json_rows
from embedsearch.data.library import HUB_PREFIX, HubName
from embedsearch.data.lines import read_lines
from embedsearch.data.splitting import LONGEST, split_sentences
from embedsearch.durable import write_json, write_whole
from embedsearch.errors import UserError
from embedsearch.records import content_id

DocumentFormat = Literal["text", "jsonl"]

_READING = 1
"""Version of how files become documents; raised when the same file would give others."""


@dataclass(frozen=True)
class Document:
    """A title and a text; either may be blank, which is for the reader to judge."""

    title: str
    text: str

    @property
    def sentences(self) -> list[str]:
        """The title, in one piece, then the sentences of the text."""
        return [" ".join(self.title.split())[:LONGEST], *split_sentences(self.text)]


@dataclass(frozen=True, eq=False)
class Documents:
    """Documents in a file or data set, which every iteration reads anew, one at a time."""

    name: str
    fingerprint: str
    """Sixteen hex digits of the file's bytes and of how they are read."""
    read: Callable[[], Iterator[Document]]

    def __iter__(self) -> Iterator[Document]:
        return self.read()


@dataclass(frozen=True, eq=False)
class KeptDocuments(Documents):
    """Documents in a folder that every worker finds, read and checked once."""

    folder: Path
    rows: int

    @classmethod
    def at(cls, folder: Path, name: str = "") -> KeptDocuments:
        """Those that ``keep_documents`` keeps in ``folder``: another process's, opened again."""
        facts = json.loads((folder / "facts.json").read_text(encoding="utf-8"))
        return cls(name, facts["fingerprint"], lambda: _kept(folder), folder, facts["rows"])

    def __len__(self) -> int:
        return self.rows


def keep_documents(documents: Documents, *, cache: Path) -> KeptDocuments:
    """``documents``, read once into ``cache`` and found there after that.

    Several processes may ask at once. Raises ``UserError`` for fewer than two, which is how a file
    of a sentence a line reads, and for what the documents raise.
    """
    folder = cache / "documents" / documents.fingerprint
    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(folder.with_suffix(".lock")):
        if not folder.is_dir():
            write_whole(folder, lambda draft: _keep(draft, documents))
    kept = KeptDocuments.at(folder, documents.name)
    if len(kept) < 2:
        raise UserError(
            f"documents '{documents.name}': there is {len(kept)} and it takes several; in a text "
            "file, blank lines stand between documents, each with its title in the first line"
        )
    return kept


def keep_sentences(documents: Documents, *, cache: Path) -> Corpus:
    """All sentences of ``documents``, titles among them, as a corpus: for what trains on sentences
    beside what trains on the documents' pairs."""
    folder = cache / "corpora" / content_id([_READING, "sentences", documents.fingerprint])
    source = chain.from_iterable(document.sentences for document in documents)
    return keep_corpus(folder, f"{documents.name}, sentences", source)


def _keep(folder: Path, documents: Documents) -> None:
    folder.mkdir()
    rows = 0
    with (folder / "documents.jsonl").open("w", encoding="utf-8") as file:
        for document in documents:
            rows += 1
            file.write(json.dumps([document.title, document.text], ensure_ascii=False) + "\n")
    write_json(folder / "facts.json", {"fingerprint": documents.fingerprint, "rows": rows})


def _kept(folder: Path) -> Iterator[Document]:
    with (folder / "documents.jsonl").open(encoding="utf-8", newline="\n") as file:
        for line in file:
            yield Document(*json.loads(line))


def open_documents(
    location: str | Path,
    *,
    encoding: str = "utf-8",
    title: str = "title",
    text: str = "text",
    format: DocumentFormat | None = None,
) -> Documents:
    """The documents at ``location``; nothing but the file's bytes is looked at yet.

    ``location`` is ``demo``, a file, or ``hf:NAME[:CONFIG[:SPLIT]]`` (split ``train``). A file is
    JSON Lines with the keys ``title`` and ``text`` (or those named), or text with blank lines
    between documents, each with its title in the first line: the contents say which, unless
    ``format`` does.

    Raises ``UserError`` for what is missing; iterating raises it for what can't be decoded, and
    for lines that are cut off or lack a key, each of which it names.
    """
    if str(location).startswith(HUB_PREFIX):
        return _hub(str(location), title, text)
    path = DEMO_FOLDER / "documents.jsonl" if location == DEMO else Path(location).expanduser()
    if not path.is_file():
        kind = "a folder" if path.is_dir() else "no file"
        raise UserError(f"documents '{location}': it is {kind}; give a file, demo or hf:NAME")
    found = format or detect_format(path, encoding)
    if found not in get_args(DocumentFormat):
        raise UserError(f"{path}: documents can't be read from {found}; give JSON Lines or text")
    key = content_id([_READING, file_digest(path), found, encoding, title, text])
    name = DEMO if location == DEMO else path.name
    if found == "jsonl":
        return Documents(name, key, lambda: _from_json(path, encoding, title, text))
    return Documents(name, key, lambda: _from_text(path, encoding))


def _from_json(path: Path, encoding: str, title: str, text: str) -> Iterator[Document]:
    for row in json_rows(path, encoding, lambda _place, _keys: [title, text]):
        if row is not None:
            yield Document(row[0] or "", row[1] or "")


def _from_text(path: Path, encoding: str) -> Iterator[Document]:
    block: list[str] = []
    for line in read_lines(path, encoding):
        if line.strip():
            block.append(line)
        elif block:
            yield Document(block[0], "\n".join(block[1:]))
            block = []
    if block:
        yield Document(block[0], "\n".join(block[1:]))


def _hub(location: str, title: str, text: str) -> Documents:
    hub = HubName.parse(location, split="train")
    table = hub.load()
    absent = [name for name in (title, text) if name not in table.column_names]
    if absent:
        listed = ", ".join(table.column_names)
        raise UserError(f"{location} has no column '{absent[0]}'; its columns are: {listed}")

    def read() -> Iterator[Document]:
        for batch in table.select_columns([title, text]).iter(batch_size=100):
            for head, body in zip(batch[title], batch[text], strict=True):
                yield Document(head or "", body or "")

    return Documents(hub.name, content_id([_READING, table._fingerprint, title, text]), read)
