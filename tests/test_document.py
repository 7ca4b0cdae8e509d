"""A YAML file as it was written, and what is refused of one."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest

from embedsearch.document import Table, Text, Where, read_yaml
from embedsearch.errors import UserError


@pytest.fixture
def read(tmp_path: Path) -> Any:
    def read(text: str) -> Table:
        path = tmp_path / "file.yaml"
        path.write_bytes(text.encode())
        return read_yaml(path)

    return read


def test_duplicate_keys_are_an_error_with_both_lines(read: Any) -> None:
    with pytest.raises(UserError, match=r"line 3, inner\.size: is there twice, first in line 2"):
        read("inner:\n  size: 1\n  size: 1\n")


def test_keys_keep_their_text(read: Any) -> None:
    assert dict(read("no: 1\n012: 2\n1e5: 3\n")) == {"no": "1", "012": "2", "1e5": "3"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "should hold keys and values"),
        ("# nothing\n", "should hold keys and values"),
        ("- 1\n", "should hold keys and values"),
        ("a: [1\nb: 2\n", r"line 2: is no valid YAML"),
        ("a:\n\t- 1\n", r"line 2: is no valid YAML"),
        ("a: 1\n---\nb: 2\n", r"line 2: is no valid YAML"),
        ("a: \x01\n", "is no valid YAML"),
        ("a: !!python/name:os.system x\n", r"line 1, a: 'python/name:os.system' tags are not read"),
        ("a: !secret x\n", r"line 1, a: '!secret' tags are not read"),
        ("b: &b {x: 1}\na:\n  <<: *b\n", r"line 3, a: 'merge' tags are not read"),
        ("a: &a [*a]\n", "an alias refers to what holds it"),
        ("? [1]\n: 2\n", "a key should be a word"),
        ("~: 2\n", "a key should be a word"),
    ],
)
def test_what_is_no_plain_mapping_is_refused(read: Any, text: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        read(text)


def test_an_alias_repeats_a_value(read: Any) -> None:
    table = read("a: &a [1, 2]\nb: *a\n")
    assert table["b"] == table["a"] == ["1", "2"]


def test_files_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"none\.yaml: can't be read \(No such file"):
        read_yaml(tmp_path / "none.yaml")
    with pytest.raises(UserError, match="can't be read"):
        read_yaml(tmp_path)
    (tmp_path / "latin.yaml").write_bytes("a: é".encode("latin-1"))
    with pytest.raises(UserError, match=r"latin\.yaml: is not UTF-8 text"):
        read_yaml(tmp_path / "latin.yaml")


def test_a_byte_order_mark_and_carriage_returns_change_nothing(read: Any) -> None:
    assert read("﻿a: 1\r\nb: no\r\n") == read("a: 1\nb: no\n")


def test_a_text_survives_pickling_with_its_place() -> None:
    text = pickle.loads(pickle.dumps(Text("no", Where("f", 1, "a"))))
    assert (text, text.where.line) == ("no", 1)
