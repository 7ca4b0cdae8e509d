"""A shuffle and de-duplication of more lines than memory holds."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from operator import itemgetter
from pathlib import Path

KEY_DIGITS = 32

_BUFFER_CHARACTERS = 1 << 25
_PREFIX = 2


class Shuffle:
    """Lines under keys of 32 random hex digits: given back in the order of keys, each key once.

    Lines wait in a buffer of fixed size; when it is full they are appended to one of 256 files in
    ``folder``, by the beginning of the key. Giving back sorts one of these at a time.
    """

    def __init__(self, folder: Path, buffer_characters: int = _BUFFER_CHARACTERS) -> None:
        self.duplicates = 0
        """Lines left out so far because an earlier one has the same key."""
        self._folder = folder
        self._limit = buffer_characters
        self._held: dict[str, list[str]] = defaultdict(list)
        self._size = 0

    def add(self, key: str, line: str) -> None:
        """Take up ``line``, which holds no line end."""
        self._held[key[:_PREFIX]].append(f"{key}{line}\n")
        self._size += len(key) + len(line)
        if self._size > self._limit:
            self._spill()

    def drain(self) -> Iterator[str]:
        """Every line whose key is new; of equal keys, the one that was added first."""
        on_disk = {path.name for path in self._folder.glob("*")}
        for prefix in sorted(on_disk | self._held.keys()):
            lines, previous = [], ""
            if prefix in on_disk:
                with (self._folder / prefix).open(encoding="utf-8", newline="\n") as file:
                    lines = list(file)
            lines += self._held.pop(prefix, [])
            for line in sorted(lines, key=itemgetter(slice(KEY_DIGITS))):
                key = line[:KEY_DIGITS]
                if key == previous:
                    self.duplicates += 1
                else:
                    yield line[KEY_DIGITS:-1]
                previous = key

    def _spill(self) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        for prefix, lines in self._held.items():
            with (self._folder / prefix).open("a", encoding="utf-8", newline="\n") as file:
                file.writelines(lines)
        self._held.clear()
        self._size = 0
