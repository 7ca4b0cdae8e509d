"""Texts out of a file of one of five formats, which its contents or an option decide."""

from __future__ import annotations

import csv
import glob
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal, get_args

from embedsearch.data.library import quiet_datasets, root_cause, told
from embedsearch.data.lines import read_lines, undecodable, without_mark
from embedsearch.errors import UserError

Format = Literal["text", "jsonl", "csv", "tsv", "parquet"]

_DELIMITERS = {"csv": ",", "tsv": "\t"}
_USUAL_COLUMNS = ("sentence", "text")
_NAMED_LINES = 5


def detect_format(path: Path, encoding: str) -> Format:
    """What ``path`` holds. Its contents decide; its extension (in any case) only where they can't.

    Prose has commas and tabs too, so only a file called ``.csv`` or ``.tsv`` is taken for a table;
    which of the two it is, its header says. Folders in the path never matter.
    """
    suffix = path.suffix.lower()
    with path.open("rb") as file:
        if file.read(4) == b"PAR1" or suffix == ".parquet":
            return "parquet"
    first = next((line for line in read_lines(path, encoding) if line.strip()), "")
    if suffix in (".csv", ".tsv"):
        if ("\t" in first) != ("," in first):
            return "tsv" if "\t" in first else "csv"
        return "tsv" if suffix == ".tsv" else "csv"
    if suffix in (".json", ".jsonl", ".ndjson") or _json_object(first) is not None:
        return "jsonl"
    return "text"


def texts(
    path: Path, file_format: Format, encoding: str, column: str | None, scratch: Path
) -> Iterator[str | None]:
    """Each text of ``path`` in order, as it stands; None for one that is missing.

    ``scratch`` is a folder for what the library has to unpack meanwhile. Raises ``UserError`` for
    a file that is not what it should be.
    """
    if file_format not in get_args(Format):
        known = ", ".join(get_args(Format))
        raise UserError(f"there is no corpus format '{file_format}'; take one of {known}")
    if file_format == "text":
        return iter(read_lines(path, encoding))
    if file_format == "jsonl":
        return _from_json(path, encoding, column)
    if file_format == "parquet":
        return _from_parquet(path, column, scratch)
    return _from_table(path, _DELIMITERS[file_format], encoding, column, scratch)


def choose_column(place: str, columns: Sequence[str], wanted: str | None) -> str:
    """``wanted``, or the sole column, or the one called ``sentence`` or ``text``.

    Raises ``UserError`` listing the columns where that names none.
    """
    listed = ", ".join(columns) or "none"
    if wanted is not None:
        if wanted in columns:
            return wanted
        raise UserError(f"{place} has no column '{wanted}'; its columns are: {listed}")
    if len(columns) == 1:
        return columns[0]
    usual = [name for name in _USUAL_COLUMNS if name in columns]
    if len(usual) == 1:
        return usual[0]
    raise UserError(f"{place}: which column has the sentences? Give --column, one of: {listed}")


def _json_object(line: str) -> dict[str, Any] | None:
    try:
        value = json.loads(line)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def json_rows(
    path: Path, encoding: str, choose: Callable[[str, list[str]], Sequence[str]]
) -> Iterator[tuple[str | None, ...] | None]:
    """The texts of each line of a JSON Lines file, None for a blank line.

    ``choose`` is told the place and the keys of the first object and says which keys are meant.
    Raises ``UserError`` at the file's end that names every bad line.
    """
    faults: list[str] = []
    columns: Sequence[str] | None = None
    for number, line in enumerate(read_lines(path, encoding), start=1):
        if not line.strip():
            yield None
            continue
        record = _json_object(line)
        if record is None:
            faults.append(f"line {number} is cut off or no JSON object")
            continue
        columns = columns or choose(f"{path}, line {number}", list(record))
        missing = [column for column in columns if column not in record]
        other = [name for name in columns if not isinstance(record.get(name), str | None)]
        if missing:
            faults.append(f"line {number} has no key {_quoted(missing)}")
        elif other:
            faults.append(f"line {number} has no text under {_quoted(other)}")
        elif not faults:
            yield tuple(record[column] for column in columns)
    if faults:
        more = len(faults) - _NAMED_LINES
        named = " and ".join(faults[:_NAMED_LINES]) + (f" and {more:,} more" if more > 0 else "")
        raise UserError(f"{path}: {named}; mend or remove what is named")


def _from_json(path: Path, encoding: str, column: str | None) -> Iterator[str | None]:
    def choose(place: str, keys: list[str]) -> list[str]:
        return [column or choose_column(place, keys, None)]

    return (row[0] if row else None for row in json_rows(path, encoding, choose))


def _quoted(names: Sequence[str]) -> str:
    return " and ".join(f"'{name}'" for name in names)


def _from_table(
    path: Path, delimiter: str, encoding: str, column: str | None, scratch: Path
) -> Iterator[str | None]:
    """One column of a CSV, or of a TSV, in which a quote is a character like any other."""
    quoting: Literal[0, 3] = csv.QUOTE_NONE if delimiter == "\t" else csv.QUOTE_MINIMAL
    rows = csv.reader(read_lines(path, encoding), delimiter=delimiter, quoting=quoting)
    header = next((row for row in rows if row), [])
    column = choose_column(str(path), header, column)
    with quiet_datasets() as datasets, TemporaryDirectory(dir=scratch) as folder:
        try:
            table = datasets.Dataset.from_csv(
                glob.escape(str(path)),
                cache_dir=folder,
                features=datasets.Features({column: datasets.Value("string")}),
                usecols=[column],
                sep=delimiter,
                quoting=quoting,
                encoding=without_mark(encoding),
                na_filter=False,
                index_col=False,  # else a comma at every row's end shifts the columns
            )
        except Exception as error:  # the library's own kinds, round pandas'
            raise _unreadable(path, encoding, error) from error
        yield from _column(table, column)


def _from_parquet(path: Path, column: str | None, scratch: Path) -> Iterator[str | None]:
    with quiet_datasets() as datasets, TemporaryDirectory(dir=scratch) as folder:
        try:
            table = datasets.Dataset.from_parquet(glob.escape(str(path)), cache_dir=folder)
        except Exception as error:  # the library's own kinds, round pyarrow's
            raise _unreadable(path, "utf-8", error) from error
        yield from table_column(table, str(path), column)


def table_column(table: Any, place: str, column: str | None) -> Iterator[str | None]:
    """The texts of one column of a ``datasets.Dataset``, chosen by ``choose_column``."""
    column = choose_column(place, table.column_names, column)
    kind = getattr(table.features[column], "dtype", "nested")
    if kind not in ("string", "large_string"):
        raise UserError(f"{place}: column '{column}' holds {kind}, not text; give --column")
    yield from _column(table, column)


def _column(table: Any, column: str) -> Iterator[str | None]:
    for batch in table.select_columns([column]).iter(batch_size=1_000):
        yield from batch[column]


def _unreadable(path: Path, encoding: str, error: Exception) -> UserError:
    if isinstance(root_cause(error), UnicodeDecodeError):
        return undecodable(path, encoding)
    return UserError(f"{path} can't be read: {told(error)}; mend it or give --format")
