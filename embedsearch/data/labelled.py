"""Texts with a label each, out of the layouts the field uses."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from embedsearch.data.lines import read_lines
from embedsearch.data.sentences import Cleaner, Counts
from embedsearch.errors import UserError

Example = tuple[str, str]
"""A label and its text, as written."""


@dataclass(frozen=True, eq=False)
class LabelledTexts:
    """Texts, words joined by single spaces, and the label of each."""

    name: str
    texts: tuple[str, ...]
    labels: tuple[str, ...]
    fingerprint: str
    """Sixteen hex digits of the labels, the texts and their order."""
    counts: Counts

    def __len__(self) -> int:
        return len(self.texts)


def collect(name: str, place: Path, examples: Iterable[Example]) -> LabelledTexts:
    """Clean the ``examples`` of a set found at ``place``; one without a text is kept as it is.

    A blank text stays, for its label is counted in the protocols: it is embedded as an empty one.
    Raises ``UserError`` where there is none at all.
    """
    clean = Cleaner()
    rows = [(label.strip(), clean(" ".join(text.split())) or "") for label, text in examples]
    if not rows:
        raise UserError(f"{place}: there is no text in it; give a file that has some")
    digest = hashlib.sha256("\0".join(part for row in rows for part in row).encode())
    labels, texts = zip(*rows, strict=True)
    return LabelledTexts(name, texts, labels, digest.hexdigest()[:16], clean.counts)


def read_classes(files: Mapping[str, Path]) -> Iterator[Example]:
    """One file for each label, a text a line (MR, CR, SUBJ, MPQA); blank lines are no examples."""
    for label, path in files.items():
        yield from ((label, line) for line in read_field_lines(path) if line.strip())


def read_parallel(texts: Path, labels: Path) -> Iterator[Example]:
    """Two files line by line (``seq.in`` and ``label``).

    A blank text keeps its line, so no label shifts. Raises ``UserError`` with both counts where
    the files don't have the same number of lines.
    """
    left, right = list(read_field_lines(texts)), list(read_field_lines(labels))
    _drop_blank_end(left, len(right))
    _drop_blank_end(right, len(left))
    if len(left) != len(right):
        raise UserError(
            f"{texts} has {len(left)} lines and {labels} {len(right)}; give files that belong "
            "together"
        )
    for number, (text, label) in enumerate(zip(left, right, strict=True), start=1):
        if not label.strip():
            raise UserError(f"{labels}, line {number}: there is no label; mend the line")
        yield label, text


def read_table(path: Path, label: Literal["first", "last"]) -> Iterator[Example]:
    """Label and text in one line, between them the first tab or the last.

    Blank lines are skipped, and a header, which warns of ``Header``. Raises ``UserError``, with the
    line, where there is no tab, and for a header that has the two the other way round.
    """
    for number, line in enumerate(read_field_lines(path), start=1):
        if not line.strip() or (number == 1 and _is_header(path, line, label)):
            continue
        before, tab, after = line.partition("\t") if label == "first" else line.rpartition("\t")
        found, text = (before, after) if label == "first" else (after, before)
        if not tab or not found.strip():
            raise UserError(f"{path}, line {number}: no label with a tab beside it; mend the line")
        yield found, text


def read_questions(path: Path) -> Iterator[Example]:
    """TREC's ``LABEL:fine question``: the label before the colon, and the question.

    Raises ``UserError``, with the line, where one is not of that form.
    """
    for number, line in enumerate(read_field_lines(path), start=1):
        if not line.strip():
            continue
        labels, space, question = line.strip().partition(" ")
        label, colon, _ = labels.partition(":")
        if not (label and colon and space):
            raise UserError(
                f"{path}, line {number}: it is not 'LABEL:fine question'; mend the line"
            )
        yield label, question


def read_paraphrases(path: Path) -> Iterator[tuple[str, str, str]]:
    """MRPC's label (0 or 1) and two texts, out of five columns below a header.

    Raises ``UserError``, with the line, where a row is none of that.
    """
    for number, line in enumerate(read_field_lines(path), start=1):
        cells = line.split("\t")
        if number == 1 or not line.strip():
            continue
        if len(cells) < 5 or cells[0].strip() not in ("0", "1"):
            raise UserError(f"{path}, line {number}: no 0 or 1 and two texts in it; mend the line")
        yield cells[0], cells[3], cells[4]


class Remark(UserWarning):
    """What is to be said beside the scores of how a file was read."""


class Latin1(Remark):
    """A file is not UTF-8 and was read as latin-1."""


class Header(Remark):
    """A file's first line names its columns, and is no example."""


def read_field_lines(path: Path) -> Sequence[str]:
    """All lines of a benchmark file: UTF-8, or latin-1 where it is not (TREC as distributed),
    which warns of ``Latin1``. Raises ``UserError`` for one that is no text (it has NUL: UTF-16)."""
    try:
        return list(read_lines(path))
    except UserError:
        if not path.is_file():
            raise
        lines = list(read_lines(path, "latin-1"))
        if any("\0" in line for line in lines):
            raise
    warnings.warn(f"{path.name} is not UTF-8, read as latin-1", Latin1, stacklevel=2)
    return lines


def _is_header(path: Path, line: str, label: Literal["first", "last"]) -> bool:
    """Whether a first line is the names of the two columns and nothing else."""
    cells = [cell.strip().casefold() for cell in line.split("\t")]
    columns = [name for cell in cells for name, words in _HEADER.items() if cell in words]
    if len(cells) != 2 or sorted(columns) != ["label", "text"]:
        return False
    if columns.index("label") != (0 if label == "first" else 1):
        raise UserError(f"{path}, line 1: by its header the label is not {label}; swap the columns")
    warnings.warn(f"{path.name} has a header, which is no example", Header, stacklevel=3)
    return True


_HEADER = {
    "label": {"label", "class", "category", "intent"},
    "text": {"text", "sentence", "utterance"},
}


def _drop_blank_end(lines: list[str], length: int) -> None:
    """Blank lines behind the last example, where the other file has none."""
    while len(lines) > length and not lines[-1].strip():
        lines.pop()
