"""Labelled texts: each layout, labels that never shift, and what is odd in a file."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest

from embedsearch.data.labelled import (
    Header,
    Latin1,
    collect,
    read_classes,
    read_parallel,
    read_table,
)
from embedsearch.errors import UserError


def put(path: Path, data: str | bytes) -> Path:
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


def test_a_file_for_each_label(tmp_path: Path) -> None:
    files = {"0": put(tmp_path / "neg", "bad .\n\nworse\n"), "1": put(tmp_path / "pos", "good\n")}
    assert list(read_classes(files)) == [("0", "bad ."), ("0", "worse"), ("1", "good")]


def test_latin_1_is_read_where_it_is_not_utf_8(tmp_path: Path) -> None:
    file = put(tmp_path / "pos", b"a caf\xe9\n")
    with pytest.warns(Latin1, match="pos is not UTF-8, read as latin-1"):
        assert list(read_classes({"1": file})) == [("1", "a café")]


def test_what_is_no_text_is_no_latin_1(tmp_path: Path) -> None:
    file = put(tmp_path / "a.tsv", "1\tone\n".encode("utf-16"))
    with pytest.raises(UserError, match=r"a\.tsv, line 1: not valid utf-8"):
        list(read_table(file, "first"))


def test_two_files_keep_their_lines_together(tmp_path: Path) -> None:
    texts = put(tmp_path / "seq.in", "one\n\nthree\n\n\n")
    labels = put(tmp_path / "label", "a\r\nb\r\nc\r\n")
    found = collect("x", tmp_path, read_parallel(texts, labels))
    assert list(zip(found.labels, found.texts, strict=True)) == [
        ("a", "one"),
        ("b", ""),
        ("c", "three"),
    ]
    assert found.counts.blank == 1


def test_a_blank_last_text_keeps_its_label(tmp_path: Path) -> None:
    texts, labels = put(tmp_path / "seq.in", "one\n\n"), put(tmp_path / "label", "a\nb\n")
    assert list(read_parallel(texts, labels)) == [("a", "one"), ("b", "")]


def test_two_files_of_other_lengths_are_an_error_with_both_counts(tmp_path: Path) -> None:
    texts, labels = put(tmp_path / "seq.in", "one\ntwo\n"), put(tmp_path / "label", "a\n")
    with pytest.raises(UserError, match=r"has 2 lines and .*label 1"):
        list(read_parallel(texts, labels))


def test_a_missing_label_names_its_line(tmp_path: Path) -> None:
    texts, labels = put(tmp_path / "seq.in", "one\ntwo\n"), put(tmp_path / "label", "a\n \n")
    with pytest.raises(UserError, match="label, line 2: there is no label"):
        list(read_parallel(texts, labels))


def test_tables_with_the_label_first_or_last(tmp_path: Path) -> None:
    first = put(tmp_path / "first.tsv", "\ufeff3\ta\ttext\n\n4\tb\n")
    last = put(tmp_path / "last.tsv", "a good film .\t1\n")
    assert list(read_table(first, "first")) == [("3", "a\ttext"), ("4", "b")]
    assert list(read_table(last, "last")) == [("1", "a good film .")]
    with pytest.raises(UserError, match=r"bad.tsv, line 2: no label"):
        list(read_table(put(tmp_path / "bad.tsv", "1\tx\nno tab\n"), "first"))


@pytest.mark.parametrize(
    ("header", "label"),
    [("label\ttext", "first"), ("Intent\t utterance ", "first"), ("sentence\tlabel", "last")],
)
def test_a_header_is_no_example(
    header: str, label: Literal["first", "last"], tmp_path: Path
) -> None:
    file = put(tmp_path / "a.tsv", f"\ufeff{header}\n1\t2\n{header}\n")
    with pytest.warns(Header, match=r"a\.tsv has a header, which is no example"):
        rows = list(read_table(file, label))
    assert rows[0] == (("1", "2") if label == "first" else ("2", "1"))
    assert len(rows) == 2, "the same words further down are an example"


def test_a_header_the_other_way_round_is_refused(tmp_path: Path) -> None:
    """Else the texts would be the labels."""
    file = put(tmp_path / "a.tsv", "sentence\tlabel\na film\t1\n")
    with pytest.raises(UserError, match=r"a\.tsv, line 1: by its header the label is not first"):
        list(read_table(file, "first"))


@pytest.mark.parametrize("line", ["label\ta text", "text\ttext", "label\ttext\tmore", "1\tlabel"])
def test_what_only_looks_like_a_header_is_an_example(line: str, tmp_path: Path) -> None:
    assert len(list(read_table(put(tmp_path / "a.tsv", f"{line}\n1\tx\n"), "first"))) == 2


def test_the_same_content_has_the_same_fingerprint(tmp_path: Path) -> None:
    unix = put(tmp_path / "a.tsv", "1\tx  y\n2\tz\n")
    other = put(tmp_path / "b.tsv", "\ufeff1\tx y \r\n2\tz\r\n")
    one, two = (collect("x", file, read_table(file, "first")) for file in (unix, other))
    assert one.fingerprint == two.fingerprint
    assert one.texts == two.texts == ("x y", "z")
    assert collect("x", unix, [("1", "x y"), ("1", "z")]).fingerprint != one.fingerprint


def test_an_empty_set_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="there is no text in it"):
        collect("x", tmp_path, [])
