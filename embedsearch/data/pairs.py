"""Sentence pairs with a gold score of their similarity, out of the layouts the field uses.

Benchmark files are split at tabs and at nothing else: a quote in them is a character.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from embedsearch.data.corpus import DEMO, DEMO_FOLDER
from embedsearch.data.library import HUB_PREFIX, HubName
from embedsearch.data.lines import read_lines
from embedsearch.data.sentences import Cleaner, Counts
from embedsearch.errors import UserError

Split = Literal["train", "dev", "test"]
Row = tuple[str, str | None, str | None, str | None]
"""Where it stands (file and line), then gold score, first and second sentence as written there."""

_STSB_FOLDERS = (".", "STSBenchmark", "STS/STSBenchmark", "downstream/STS/STSBenchmark")
_STSB_COLUMNS = (4, 5, 6)
_PLAIN_COLUMNS = (0, 1, 2)
_HUB_SPLITS = {"train": "train", "dev": "validation", "test": "test"}
_HUB_SCORES = ("score", "label", "similarity_score")


@dataclass(frozen=True, eq=False)
class ScoredPairs:
    """Sentence pairs, words joined by single spaces, and how similar people found them."""

    name: str
    first: tuple[str, ...]
    second: tuple[str, ...]
    gold: NDArray[np.float64]
    """(pairs,); on whatever scale the set has."""
    fingerprint: str
    """Sixteen hex digits of the sentences, the scores and their order."""
    counts: Counts

    def __len__(self) -> int:
        return len(self.gold)

    @property
    def is_test(self) -> bool:
        """Whether its name says that it is a test set (``stsb-test``, ``SICK_test_annotated``)."""
        return re.search(r"(^|[-_. ])test([-_. ]|$)", self.name, re.IGNORECASE) is not None


def read_dev_pairs(location: str | Path, *, split: Split = "dev") -> ScoredPairs:
    """The scored pairs at ``location``.

    ``demo``; a SentEval folder (``…/downstream``, or one between it and ``STSBenchmark``), of which
    ``split`` names the file; an STS-B file (score and sentences in columns 5 to 7); a file of
    score, tab, sentence, tab, sentence; or ``hf:NAME[:CONFIG[:SPLIT]]`` with ``sentence1``,
    ``sentence2`` and ``score`` (or ``label``). A pair whose gold score is blank is skipped and
    counted. Raises ``UserError``, with file and line, for a score that is no number, a missing
    sentence, or where there is nothing to read.
    """
    if str(location).startswith(HUB_PREFIX):
        hub = HubName.parse(str(location), split=_HUB_SPLITS[split])
        return _collect(f"{hub.name}-{hub.split}", str(location), _hub_rows(hub))
    if location == DEMO:
        file = DEMO_FOLDER / f"{split}.tsv"
        return _collect(f"{DEMO}-{split}", str(file), _file_rows(file))
    file = find_pairs(Path(location).expanduser(), split)
    stsb = re.fullmatch(r"sts-(train|dev|test)\.csv", file.name)
    return _collect(f"stsb-{stsb[1]}" if stsb else file.stem, str(file), _file_rows(file))


def read_sts_topic(sentences: Path, gold: Path) -> ScoredPairs:
    """One topic of SemEval's STS: ``STS.input.TOPIC.txt`` and ``STS.gs.TOPIC.txt``, line by line.

    A pair whose gold line is blank was not scored by people: it is skipped and counted. Raises
    ``UserError`` with both counts where the files don't have the same number of lines.
    """
    pairs, scores = _without_blank_end(read_lines(sentences)), list(read_lines(gold))
    if len(scores) < len(pairs) or any(score.strip() for score in scores[len(pairs) :]):
        raise UserError(
            f"{sentences} has {len(pairs)} pairs and {gold} {len(scores)} scores; "
            f"give files that belong together"
        )
    rows: Iterator[Row] = (
        (f"{sentences}, line {number}", score, _cell(pair, 0), _cell(pair, 1))
        for number, (pair, score) in enumerate(zip(pairs, scores, strict=False), start=1)
    )
    return _collect(sentences.stem.removeprefix("STS.input."), str(gold), rows)


def read_sick(file: Path) -> ScoredPairs:
    """The pairs of a SICK file: a header, then ``sentence_A``, ``sentence_B`` and their
    ``relatedness_score``. Raises ``UserError`` where a column is missing or a score is no number.
    """
    lines = list(read_lines(file))
    columns = lines[0].split("\t") if lines else []
    wanted = ("relatedness_score", "sentence_A", "sentence_B")
    if missing := [name for name in wanted if name not in columns]:
        raise UserError(f"{file}, line 1: no column '{missing[0]}' in its header; give a SICK file")
    places = [columns.index(name) for name in wanted]
    rows: Iterator[Row] = (
        (f"{file}, line {number}", *(_cell(line, place) for place in places))  # type: ignore[misc]
        for number, line in enumerate(lines[1:], start=2)
        if line.strip()
    )
    return _collect("sickr", str(file), rows)


def joined(name: str, parts: Sequence[ScoredPairs]) -> ScoredPairs:
    """All pairs of ``parts`` as one set, in their order."""
    gold = np.concatenate([part.gold for part in parts])
    counts = Counts(len(gold), unscored=sum(part.counts.unscored for part in parts))
    digest = hashlib.sha256("".join(part.fingerprint for part in parts).encode()).hexdigest()
    first = tuple(text for part in parts for text in part.first)
    second = tuple(text for part in parts for text in part.second)
    return ScoredPairs(name, first, second, gold, digest[:16], counts)


def find_pairs(path: Path, split: Split = "dev") -> Path:
    """The file at ``path``, or in the SentEval folder there; ``UserError`` where there is none."""
    if path.is_file():
        return path
    found = [path / folder / f"sts-{split}.csv" for folder in _STSB_FOLDERS]
    for file in found:
        if file.is_file():
            return file
    what = f"has no STSBenchmark/sts-{split}.csv" if path.is_dir() else "does not exist"
    raise UserError(f"dev pairs '{path}': it {what}; give a file, a SentEval folder or demo")


def _file_rows(path: Path) -> Iterator[Row]:
    """The rows of an STS-B file, or of one with three columns: the width of the first row says."""
    columns = None
    for number, line in enumerate(read_lines(path), start=1):
        if not line.strip():
            continue
        if columns is None:
            columns = _STSB_COLUMNS if line.count("\t") >= _STSB_COLUMNS[1] else _PLAIN_COLUMNS
        score, first, second = (_cell(line, column) for column in columns)
        yield f"{path}, line {number}", score, first, second


def _cell(line: str, column: int) -> str | None:
    cells = line.split("\t")
    return cells[column] if column < len(cells) else None


def _hub_rows(hub: HubName) -> Iterator[Row]:
    table = hub.load()
    score = next((name for name in _HUB_SCORES if name in table.column_names), None)
    if score is None or not {"sentence1", "sentence2"} <= set(table.column_names):
        raise UserError(
            f"hf:{hub.name} has the columns {', '.join(table.column_names)}; "
            f"pairs need sentence1, sentence2 and score"
        )
    for number, row in enumerate(table, start=1):
        gold = None if row[score] is None else str(row[score])
        yield f"hf:{hub.name}, row {number}", gold, row["sentence1"], row["sentence2"]


def _collect(name: str, place: str, rows: Iterable[Row]) -> ScoredPairs:
    clean, unscored = Cleaner(), 0
    first: list[str] = []
    second: list[str] = []
    gold: list[float] = []
    for where, score, *sentences in rows:
        if score is not None and not score.strip():
            unscored += 1
            continue
        gold.append(_number(where, score))
        for side, text in zip((first, second), sentences, strict=True):
            side.append(_sentence(where, text, clean))
    if not gold:
        raise UserError(f"{place}: no pair with a gold score in it; give a file that has some")
    digest = hashlib.sha256("\0".join([*map(repr, gold), *first, *second]).encode())
    counts = replace(clean.counts, kept=len(gold), unscored=unscored)
    scores = np.array(gold, dtype=np.float64)
    return ScoredPairs(name, tuple(first), tuple(second), scores, digest.hexdigest()[:16], counts)


def _number(where: str, text: str | None) -> float:
    try:
        value = float(text or "")
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise UserError(f"{where}: the gold score {text!r} is no number; mend or remove the line")
    return value


def _sentence(where: str, text: str | None, clean: Cleaner) -> str:
    sentence = clean(" ".join((text or "").split()))
    if sentence is None:
        raise UserError(f"{where}: a sentence is missing or blank; mend or remove the line")
    return sentence


def _without_blank_end(lines: Iterable[str]) -> list[str]:
    kept = list(lines)
    while kept and not kept[-1].strip():
        kept.pop()
    return kept
