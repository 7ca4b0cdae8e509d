"""Word vectors in every form they come in, and what is said of a bad one."""

from pathlib import Path

import numpy as np
import pytest

from embedsearch.encoder.backbone import describe, fingerprint, locate
from embedsearch.encoder.word_files import read_words, word_tokenizer
from embedsearch.errors import UserError

LINES = ["the 1 0", "cat 0 1", "é .5 -2e-1", ". . . 3 3", "2 4 4", "’ 5 5"]


def write(path: Path, lines: list[str]) -> Path:
    path.write_bytes("".join(f"{line}\n" for line in lines).encode())
    return path


def found(path: Path, text: str) -> list[list[float]]:
    """The vectors of the words of a text."""
    vectors, tokenizer = read_words(path)
    return vectors[tokenizer.encode(text).ids].tolist()


@pytest.mark.parametrize("header", [[], ["6 2"]])
@pytest.mark.parametrize("ending", ["", " ", "\r"])
def test_a_line_is_a_word_and_its_numbers(header: list[str], ending: str, tmp_path: Path) -> None:
    path = write(tmp_path / "words.vec", header + [line + ending for line in LINES])
    assert (describe(str(path)).dim, describe(str(path)).architecture) == (2, "word table")
    vectors, tokenizer = read_words(path)
    assert vectors.shape == (6, 2)
    assert tokenizer.get_vocab()["▁. . ."] == 3
    assert found(path, "The cat") == [[1, 0], [0, 1]]
    np.testing.assert_allclose(found(path, "É"), [[0.5, -0.2]])


def test_what_is_no_word_is_passed_over(tmp_path: Path) -> None:
    """Also one made of characters that are words; punctuation is split off."""
    path = write(tmp_path / "words.txt", LINES)
    assert found(path, "2’cat unknown 22 catthe") == [[4, 4], [5, 5], [0, 1]]
    assert found(path, "") == found(path, "nothing") == []


def test_the_first_of_two_counts(tmp_path: Path) -> None:
    path = write(tmp_path / "words.txt", ["a 1 1", "b 2 2", "a 3 3", "c 4 4"])
    assert found(path, "c a b") == [[4, 4], [1, 1], [2, 2]]


def test_case_is_the_vocabularys() -> None:
    lower = [f"word{i}" for i in range(150)]
    assert word_tokenizer([*lower, "UNK"]).encode("Word3 UNK").tokens == ["▁word3"]
    cased = word_tokenizer(["Paris", "is", "nice"])
    assert cased.encode("Paris IS nice").tokens == ["▁Paris", "▁nice"]


@pytest.mark.parametrize(
    ("lines", "number"),
    [
        (["the 1 0", "cat 1"], 2),
        (["the 1 0", "cat 1 x"], 2),
        (["the 1 0", "cat 1 0 7"], 2),
        (["the 1 0", ""], 2),
        (["the 1 0", " 1 0"], 2),
        (["the 1 0", "cat nan 0"], 2),
        (["1 2", "the 1 0", "cat  1 0"], 3),
        (["words alone"], 1),
        ([], 1),
    ],
)
def test_a_bad_line_is_named(lines: list[str], number: int, tmp_path: Path) -> None:
    path = write(tmp_path / "words.txt", lines)
    with pytest.raises(UserError, match=rf"words\.txt, line {number}: it is no word in UTF-8"):
        read_words(path)


def test_a_binary_file_is_refused_before_the_start(tmp_path: Path) -> None:
    path = tmp_path / "words.bin"
    path.write_bytes(b"2 3\nthe \xff\xfe\x00\x01\x02")
    with pytest.raises(UserError, match=r"words\.bin, line 2: it is no word"):
        describe(str(path))


@pytest.mark.parametrize("beside", ["matrix.vocab", "matrix.txt"])
def test_a_matrix_has_its_words_beside_it(beside: str, tmp_path: Path) -> None:
    np.save(tmp_path / "matrix.npy", np.array([[1, 0], [0, 1], [2, 2]], dtype=np.float16))
    words = write(tmp_path / beside, ["the", "cat", "the"])
    path = tmp_path / "matrix.npy"
    assert describe(str(path)).dim == 2
    assert found(path, "Cat the") == [[0, 1], [1, 0]]
    before = fingerprint(path)
    write(words, ["the", "dog", "the"])
    assert fingerprint(path) != before


def test_a_matrix_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "matrix.npy"
    np.save(path, np.ones((2, 2)))
    with pytest.raises(UserError, match=r"there is no matrix\.vocab beside it"):
        read_words(path)
    write(tmp_path / "matrix.vocab", ["the"])
    with pytest.raises(UserError, match=r"matrix\.vocab has 1 lines and matrix\.npy 2 rows"):
        read_words(path)
    write(tmp_path / "matrix.vocab", ["the", "cat"])
    np.save(path, np.array([[1, 2], [np.nan, 0]]))
    with pytest.raises(UserError, match=r"row 1 \(from 0\) is not finite"):
        read_words(path)
    np.save(path, np.ones(2, dtype=int))
    with pytest.raises(UserError, match=r"holds int64 of shape \(2,\): save"):
        describe(str(path))
    path.write_bytes(b"no matrix")
    with pytest.raises(UserError, match="can't be read as a matrix"):
        describe(str(path))


def test_a_file_that_is_not_there_is_no_hub_name() -> None:
    with pytest.raises(UserError, match=r"'glove\.txt': there is no such folder or file"):
        locate("glove.txt")
