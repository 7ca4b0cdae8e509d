"""Corpora: every format, every spelling of the same sentences, and what is wrong with a file."""

from __future__ import annotations

import json
import multiprocessing
import os
from pathlib import Path

import numpy as np
import pytest

from embedsearch.data.corpus import Corpus, open_corpus
from embedsearch.data.sentences import MAX_CHARACTERS, Counts
from embedsearch.errors import UserError

SENTENCES = ["Rain fell all night.", 'He said "no', "Größe, naïve 😀", "NA"]


def write(path: Path, content: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(
        content if isinstance(content, bytes) else content.encode(errors="surrogateescape")
    )
    return path


def opened(path: Path | str, tmp_path: Path, **options: str) -> Corpus:
    return open_corpus(path, cache=tmp_path / "cache", **options)  # type: ignore[arg-type]


def test_a_row_a_list_and_a_slice(tmp_path: Path) -> None:
    corpus = opened(write(tmp_path / "a.txt", "\n".join(SENTENCES)), tmp_path)
    assert (len(corpus), corpus.name, corpus.counts) == (4, "a.txt", Counts(kept=4))
    assert corpus[1] == SENTENCES[1]
    assert corpus[-1] == SENTENCES[-1]
    assert corpus[[3, 0, 3]] == [SENTENCES[3], SENTENCES[0], SENTENCES[3]]
    assert corpus[np.array([2, 1])] == [SENTENCES[2], SENTENCES[1]]
    assert corpus[1:3] == SENTENCES[1:3]
    assert list(corpus) == SENTENCES


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("layout", ["text", "jsonl", "csv", "tsv"])
def test_marks_and_line_ends_do_not_matter(
    tmp_path: Path, layout: str, end: str, mark: bytes
) -> None:
    lines = {
        "text": SENTENCES,
        "jsonl": [json.dumps({"text": text}) for text in SENTENCES],
        "csv": ["id,text", *('1,"' + text.replace('"', '""') + '"' for text in SENTENCES)],
        "tsv": ["id\ttext", *(f"1\t{text}" for text in SENTENCES)],
    }[layout]
    extension = {"text": "txt"}.get(layout, layout)
    same = opened(write(tmp_path / "plain.txt", "\n".join(SENTENCES)), tmp_path)
    content = mark + end.join([*lines, ""]).encode()
    corpus = opened(write(tmp_path / f"other.{extension}", content), tmp_path)
    assert list(corpus) == SENTENCES
    assert corpus.fingerprint == same.fingerprint


def test_parquet(tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    table = datasets.Dataset.from_dict({"n": [1, 2, 3], "text": ["one", None, "three"]})
    table.to_parquet(str(tmp_path / "x[1].PARQUET"))
    corpus = opened(tmp_path / "x[1].PARQUET", tmp_path)
    assert (list(corpus), corpus.counts.blank) == (["one", "three"], 1)
    with pytest.raises(UserError, match="column 'n' holds int64, not text"):
        opened(tmp_path / "x[1].PARQUET", tmp_path, column="n")
    broken = write(tmp_path / "broken.parquet", b"PAR1 and no more")
    with pytest.raises(UserError, match=r"broken\.parquet can't be read: "):
        opened(broken, tmp_path)


def test_contents_decide_and_never_the_folder(tmp_path: Path) -> None:
    prose = "Tabs\tand, commas\nare prose too"
    assert len(opened(write(tmp_path / "tsv.csv/TRAIN.TXT", prose), tmp_path)) == 2
    assert len(opened(write(tmp_path / "no_extension", prose), tmp_path)) == 2
    assert list(opened(write(tmp_path / "tsv/a.CSV", "id,text\n1,one"), tmp_path)) == ["one"]
    assert list(opened(write(tmp_path / "csv/a.csv", "id\ttext\n1\tone"), tmp_path)) == ["one"]
    assert list(opened(write(tmp_path / "a.txt", '{"text": "one"}'), tmp_path)) == ["one"]
    assert list(opened(write(tmp_path / "b.txt", "{not JSON}"), tmp_path)) == ["{not JSON}"]
    assert list(opened(write(tmp_path / "sole.tsv", 'sentence\na, "b'), tmp_path)) == ['a, "b']


def test_an_option_decides_before_the_contents(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", "id\ttext\n1\tone")
    assert list(opened(path, tmp_path, format="tsv")) == ["one"]
    assert list(opened(path, tmp_path, format="text")) == ["id\ttext", "1\tone"]
    with pytest.raises(UserError, match="no corpus format 'xml'; take one of text, jsonl, csv"):
        opened(path, tmp_path, format="xml")


def test_columns(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", 'a,"b, c"\n1,one\n2,"two\nlines, one row"\n3\n')
    with pytest.raises(UserError, match=r"Give --column, one of: a, b, c$"):
        opened(path, tmp_path)
    with pytest.raises(UserError, match="no column 'd'; its columns are: a, b, c"):
        opened(path, tmp_path, column="d")
    corpus = opened(path, tmp_path, column="b, c")
    assert (list(corpus), corpus.counts.blank) == (["one", "two\nlines, one row"], 1)
    assert list(opened(path, tmp_path, column="a")) == ["1", "2", "3"]


@pytest.mark.parametrize(("name", "tab"), [("a.csv", ","), ("a.tsv", "\t")])
def test_rows_longer_than_the_header_shift_nothing(tmp_path: Path, name: str, tab: str) -> None:
    rows = ["text,n", "one,1,", "two,2,"]
    path = write(tmp_path / name, "\n".join(rows).replace(",", tab))
    assert list(opened(path, tmp_path)) == ["one", "two"]


def test_an_unclosed_quote_in_a_csv_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"a\.csv can't be read: .*string.*row"):
        opened(write(tmp_path / "a.csv", 'id,text\n1,"open\n2,x\n'), tmp_path)


def test_blank_lines_are_skipped_and_counted(tmp_path: Path) -> None:
    lines = ["one", "", "   ", "\u200b", "\u3000\u200b ", "😀", "\ufeff"]
    corpus = opened(write(tmp_path / "a.txt", "\n".join(lines)), tmp_path)
    assert list(corpus) == ["one", "😀"]
    assert corpus.counts == Counts(kept=2, blank=5)
    with pytest.raises(UserError, match=r"corpus 'b\.txt' holds no sentence"):
        opened(write(tmp_path / "b.txt", "\n \n\u200b"), tmp_path)


@pytest.mark.parametrize("name", ["a.txt", "a.jsonl", "a.csv", "a.tsv"])
def test_long_fields_and_nul(tmp_path: Path, name: str) -> None:
    long = "x" * 200_000
    content = {
        "a.txt": f"{long}\nn\0ul\n",
        "a.jsonl": f'{{"text": "{long}"}}\n{{"text": "n\\u0000ul"}}\n',
        "a.csv": f'text\n"{long}"\nn\0ul\n',
        "a.tsv": f"text\n{long}\nn\0ul\n",
    }[name]
    corpus = opened(write(tmp_path / name, content), tmp_path)
    assert [len(text) for text in corpus] == [MAX_CHARACTERS, 3]
    assert corpus.counts == Counts(kept=2, truncated=1, nul=1)
    assert str(corpus.counts) == "2 kept (1 cut at 32,768 characters, 1 with NUL removed)"


@pytest.mark.parametrize("name", ["a.txt", "a.csv", "a.tsv", "a.jsonl"])
def test_a_byte_of_another_encoding(tmp_path: Path, name: str) -> None:
    lines = ["text", "ok", "caf\xe9", "ok"]
    if name == "a.jsonl":
        lines = [f'{{"text": "{line}"}}' for line in lines]
    path = write(tmp_path / name, "\n".join(lines).encode("latin-1"))
    with pytest.raises(UserError, match=rf"{name}, line 3: not valid utf-8; give --encoding"):
        opened(path, tmp_path)
    assert "caf\xe9" in opened(path, tmp_path, encoding="latin-1")
    with pytest.raises(UserError, match="no encoding 'latin-99'"):
        opened(path, tmp_path, encoding="latin-99")


def test_utf_16(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", "\n".join(SENTENCES).encode("utf-16"))
    assert list(opened(path, tmp_path, encoding="utf-16")) == SENTENCES


def test_every_bad_line_of_json_is_named_in_one_sentence(tmp_path: Path) -> None:
    rows = ['{"text": "a"}', '{"txt": "b"}', "", '{"text": 3}', '{"text": "cut o']
    with pytest.raises(UserError) as caught:
        opened(write(tmp_path / "a.jsonl", "\n".join(rows)), tmp_path)
    message = str(caught.value).removeprefix(f"{tmp_path}/a.jsonl: ")
    assert message == (
        "line 2 has no key 'text' and line 4 has no text under 'text' and "
        "line 5 is cut off or no JSON object; mend or remove what is named"
    )
    with pytest.raises(UserError, match=r"line 5 is cut.* and 95 more; "):
        opened(write(tmp_path / "b.jsonl", "\n".join(["{"] * 100)), tmp_path)
    with pytest.raises(UserError, match=r"line 1: which column .* one of: a, b"):
        opened(write(tmp_path / "c.jsonl", '{"a": "x", "b": "y"}'), tmp_path)


def test_half_a_surrogate_pair_does_not_hurt(tmp_path: Path) -> None:
    corpus = opened(write(tmp_path / "a.jsonl", '{"text": "a \\ud83d b"}'), tmp_path)
    assert corpus[0] == "a ? b"


def test_other_text_of_the_same_size_and_time_is_noticed(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", "one\ntwo")
    os.utime(path, (1, 1))
    first = opened(path, tmp_path)
    write(path, "two\none")
    os.utime(path, (1, 1))
    second = opened(path, tmp_path)
    assert (list(first), list(second)) == (["one", "two"], ["two", "one"])
    assert first.fingerprint != second.fingerprint


def test_a_second_opening_reads_nothing_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path / "a.txt", "one\ntwo")
    first = opened(path, tmp_path)
    monkeypatch.setattr("embedsearch.data.corpus._write", None)
    moved = opened(path.rename(tmp_path / "b.txt"), tmp_path)
    assert (moved.fingerprint, moved.name, list(moved)) == (first.fingerprint, "b.txt", list(first))


@pytest.mark.parametrize("name", ["a.txt", "a.csv"])
def test_a_failed_reading_leaves_nothing_behind(tmp_path: Path, name: str) -> None:
    path = write(tmp_path / name, "text\n" + "good\n" * 50_000 + "bad\udce9\n")
    with pytest.raises(UserError, match="line 50002: not valid"):
        opened(path, tmp_path)
    left = [file for file in (tmp_path / "cache/corpora").iterdir() if file.suffix != ".lock"]
    assert left == []


def _fingerprint(path: Path, cache: Path) -> str:
    return open_corpus(path, cache=cache).fingerprint


def test_several_processes_at_once(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", "\n".join(f"sentence {n}" for n in range(20_000)))
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        found = pool.starmap(_fingerprint, [(path, tmp_path / "cache")] * 2)
    assert set(found) == {opened(path, tmp_path).fingerprint}


def test_what_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is no file; give a file, demo or hf:NAME"):
        opened(tmp_path / "nowhere.txt", tmp_path)
    with pytest.raises(UserError, match="is a folder"):
        opened(tmp_path, tmp_path)


def test_hub_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hub"))
    write(tmp_path / "set/test.jsonl", '{"a": "one", "b": "x"}\n{"a": " ", "b": "y"}\n')
    corpus = opened(f"hf:{tmp_path}/set::test#a", tmp_path)
    assert (list(corpus), corpus.counts.blank) == (["one"], 1)
    assert list(opened(f"hf:{tmp_path}/set::test", tmp_path, column="b")) == ["x", "y"]
    with monkeypatch.context() as patch:
        patch.setattr("embedsearch.data.corpus._write", None)
        again = opened(f"hf:{tmp_path}/set::test#a", tmp_path)
    assert again.fingerprint == corpus.fingerprint
    with pytest.raises(UserError, match=r"\(split train\) can't be loaded: "):
        opened(f"hf:{tmp_path}/set", tmp_path)
    with pytest.raises(UserError, match=r"write hf:NAME\[:CONFIG\[:SPLIT\]\]"):
        opened("hf:a:b:c:d", tmp_path)


def test_demo(tmp_path: Path) -> None:
    corpus = opened("demo", tmp_path)
    assert corpus.name == "demo"
    assert len(corpus) >= 1_000


def test_importing_and_reading_say_nothing(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path / "a.csv", "text\none\ntwo")
    list(opened(path, tmp_path))
    assert capfd.readouterr() == ("", "")
