"""Word vectors as they lie in files, and the tokenizer that finds the words of a text.

Three forms: a text file, a word and its numbers a line (GloVe's, and word2vec's with its header); a
matrix ``NAME.npy`` with a word a line beside it, in ``NAME.vocab`` or ``NAME.txt``; and a folder of
sentence-transformers' ``StaticEmbedding``, whose words have a tokenizer of their own.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import safe_open
from safetensors.torch import load_file
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers
from torch import Tensor

from embedsearch.errors import UserError

ENDINGS = (".npy", ".txt", ".vec")
"""Of file names that are no hub names."""

_START = "▁"
_CAPITALS = 0.01
_WEIGHT = "embedding.weight"


def holds_words(path: Path) -> bool:
    """Whether ``path`` is one of the three forms, rather than a transformer's folder."""
    parts = [(path / name).is_file() for name in ("tokenizer.json", "model.safetensors")]
    return path.is_file() or (all(parts) and not (path / "config.json").exists())


def word_sources(path: Path) -> list[Path]:
    """The files that the words of a file are read from."""
    return [path, _vocabulary(path)] if path.suffix == ".npy" else [path]


def word_dim(path: Path) -> int:
    """How many numbers a word has, from the first of them; ``UserError`` as in ``read_words``."""
    if path.is_dir():
        with safe_open(path / "model.safetensors", "pt") as file:
            _must_be_there(path, file.keys())
            return int(file.get_slice(_WEIGHT).get_shape()[1])
    if path.suffix == ".npy":
        return int(_matrix(path).shape[1])
    return len(next(_lines(path))[1])


def read_words(path: Path) -> tuple[Tensor, Tokenizer]:
    """The vectors, (words, dim) in float32, and the tokenizer that gives a text's rows of them.

    Of a word that comes twice the first counts. Raises ``UserError`` with file and line for what is
    no word with its numbers.
    """
    if path.is_dir():
        weights = load_file(path / "model.safetensors")
        _must_be_there(path, weights)
        return weights[_WEIGHT].float(), Tokenizer.from_file(str(path / "tokenizer.json"))
    words, vectors = _read_matrix(path) if path.suffix == ".npy" else _read_text(path)
    rows: dict[str, int] = {}
    for row, word in enumerate(words):
        rows.setdefault(word, row)
    if len(rows) < len(words):
        vectors = vectors[list(rows.values())]
    return vectors, word_tokenizer(list(rows))


def word_tokenizer(words: Sequence[str]) -> Tokenizer:
    """Gives the index of each word of a text, and nothing for one that is unknown.

    A text is split at white space and around every punctuation mark, as BERT's is, and lower-cased
    where the words are (fewer than one in a hundred has a capital). Words that hold a space or
    punctuation beside letters are therefore never found.

    It is a BPE without merges: what is no token as a whole falls into its characters, and none of
    these is a token, for every word has a ``▁`` before it. A ``WordLevel`` wants a token for the
    unknown, whose vector would be in the mean.
    """
    vocabulary = {f"{_START}{word}": row for row, word in enumerate(words)}
    tokenizer = Tokenizer(models.BPE(vocabulary, [], ignore_merges=True))
    if sum(word != word.lower() for word in words) < _CAPITALS * len(words):
        tokenizer.normalizer = normalizers.Lowercase()
    start = pre_tokenizers.Metaspace(_START, "always", split=False)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.BertPreTokenizer(), start])
    return tokenizer


def _read_text(path: Path) -> tuple[list[str], Tensor]:
    words: list[str] = []
    values = array("f")
    for word, numbers in _lines(path):
        words.append(word)
        values.extend(numbers)
    return words, torch.frombuffer(values, dtype=torch.float32).view(len(words), -1)


def _lines(path: Path) -> Iterator[tuple[str, list[float]]]:
    """Every word and its numbers, which are counted from the right: a word may hold spaces."""
    with path.open("rb") as file:
        first = file.readline()
        fields = first.split()
        has_header = len(fields) == 2 and all(field.isdigit() for field in fields)
        dim = int(fields[1]) if has_header else _numbers_behind(fields)
        lines = file if has_header else chain([first], file)
        for number, line in enumerate(lines, 2 if has_header else 1):
            found = _word(line, dim)
            if found is None:
                raise UserError(
                    f"{path}, line {number}: it is no word in UTF-8 with {dim or 'its'} numbers "
                    "behind it, parted by single spaces: mend or drop the line"
                )
            yield found


def _word(line: bytes, dim: int) -> tuple[str, list[float]] | None:
    """The word of a line and its numbers; None where there are more or fewer of them."""
    word, *fields = line.rstrip().rsplit(b" ", dim) if dim else [b""]
    if not word or word != word.strip() or _numbers_behind(word.split(b" ")):
        return None
    try:
        numbers = [float(field) for field in fields]
        found = word.decode(), numbers
    except ValueError:
        return None
    return found if len(numbers) == dim and math.isfinite(sum(numbers)) else None


def _numbers_behind(fields: Sequence[bytes]) -> int:
    """How many of the last fields are numbers; the first is a word, whatever it is."""
    for count, field in enumerate(reversed(fields[1:])):
        try:
            float(field)
        except ValueError:
            return count
    return max(0, len(fields) - 1)


def _read_matrix(path: Path) -> tuple[list[str], Tensor]:
    matrix, beside = _matrix(path), _vocabulary(path)
    try:
        words = beside.read_text(encoding="utf-8").removesuffix("\n").split("\n")
    except UnicodeDecodeError as error:
        raise UserError(f"{beside}: it is not in UTF-8: write it anew") from error
    if len(words) != len(matrix):
        raise UserError(
            f"{beside} has {len(words):,} lines and {path.name} {len(matrix):,} rows: give each "
            "row its word, a line each"
        )
    vectors = np.array(matrix, dtype=np.float32)
    if not (finite := np.isfinite(vectors).all(axis=1)).all():
        raise UserError(
            f"{path}: row {int(finite.argmin())} (from 0) is not finite: mend or drop it"
        )
    return words, torch.from_numpy(vectors)


def _matrix(path: Path) -> NDArray[Any]:
    """As it lies in the file."""
    try:
        matrix: NDArray[Any] = np.load(path, mmap_mode="r")
    except (OSError, ValueError) as error:
        raise UserError(f"{path}: it can't be read as a matrix ({error})") from error
    if matrix.ndim != 2 or matrix.dtype.kind != "f":
        kind = f"{matrix.dtype} of shape {matrix.shape}"
        raise UserError(f"{path} holds {kind}: save (words, dim) floats")
    return matrix


def _vocabulary(path: Path) -> Path:
    """The words of a matrix."""
    for beside in (path.with_suffix(".vocab"), path.with_suffix(".txt")):
        if beside.is_file():
            return beside
    raise UserError(
        f"{path}: there is no {path.stem}.vocab beside it: write it, a row's word a line"
    )


def _must_be_there(folder: Path, names: Any) -> None:
    if _WEIGHT not in names:
        raise UserError(
            f"{folder} is neither a transformer (there is no config.json) nor word vectors "
            f"(model.safetensors has no '{_WEIGHT}'): give another --backbone"
        )
