"""Lines of a text file, with an error that names the line where a byte does not fit."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from pathlib import Path

from embedsearch.errors import UserError


def read_lines(path: Path, encoding: str = "utf-8") -> Iterator[str]:
    r"""The lines of ``path``, one at a time, without their ends (``\n``, ``\r\n`` or ``\r``).

    A byte order mark is dropped. Raises ``UserError`` where the file can't be opened or a byte is
    not of ``encoding``; that one names the line.
    """
    try:
        with path.open(encoding=without_mark(encoding)) as file:
            for line in file:
                yield line.rstrip("\n")
    except UnicodeError as error:
        raise undecodable(path, encoding) from error
    except OSError as error:
        raise UserError(
            f"{path}: {error.strerror or error}; name a file that can be read"
        ) from error


def without_mark(encoding: str) -> str:
    """The codec that reads ``encoding`` and drops its byte order mark."""
    try:
        name = codecs.lookup(encoding).name
        "".encode(name)  # some codecs are from text to text or from bytes to bytes
    except (LookupError, UnicodeError) as error:
        raise UserError(f"there is no encoding '{encoding}'; try utf-8 or latin-1") from error
    return "utf-8-sig" if name == "utf-8" else name


def undecodable(path: Path, encoding: str) -> UserError:
    """The error for a file that is not in ``encoding``, with the first line where it is not."""
    place = str(path)
    try:
        with path.open(encoding=without_mark(encoding), errors="surrogateescape") as file:
            for number, line in enumerate(file, start=1):
                if any("\udc80" <= character <= "\udcff" for character in line):
                    place = f"{path}, line {number}"
                    break
    except UnicodeError:
        pass  # a codec that can't go on past a bad byte: the file alone is named
    return UserError(
        f"{place}: not valid {encoding}; give --encoding, such as --encoding latin-1, for a "
        "corpus, and save any other file as UTF-8"
    )
