"""Collections: two layouts, what their judgements name, and what is wrong with a file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from embedsearch.data.collection import read_collection
from embedsearch.errors import UserError

CORPUS = [
    {"_id": "d1", "title": "Rain", "text": "It  rained."},
    {"_id": "d2", "title": "", "text": "The sun\tshone."},
    {"_id": "d3", "title": "", "text": "\u200b"},
]
QUERIES = [{"_id": "q1", "text": "rain"}, {"_id": "q2", "text": "snow"}, {"_id": "q3", "text": ""}]
TEST = ["q1\td1\t2", "q1\td2\t0", "q1\td9\t1", "q2\td1\t0", "q8\td1\t1", "q3\td2\t1", "q3\td2\t3"]


def beir(folder: Path, corpus: list[dict[str, str]] = CORPUS, test: list[str] = TEST) -> Path:
    (folder / "qrels").mkdir(parents=True)
    for name, rows in (("corpus.jsonl", corpus), ("queries.jsonl", QUERIES)):
        (folder / name).write_text("\n".join(map(json.dumps, rows)) + "\n", encoding="utf-8")
    lines = ["query-id\tcorpus-id\tscore", *test]
    (folder / "qrels" / "test.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


def test_beir(tmp_path: Path) -> None:
    found = read_collection(beir(tmp_path / "made"))
    assert found.name == "made"
    assert found.documents == ("Rain It rained.", "The sun shone.", "")
    assert (found.queries, found.gains) == (("rain", ""), ({0: 2}, {1: 3}))
    assert found.notes == (
        "3 documents, 2 queries, 2 relevant",
        "queries without a relevant document, left out: 1",
        "judgements of unknown documents, left out: 1",
        "judgements of unknown queries, left out: 1",
        "blank documents: 1",
        "blank queries: 1",
    )


def test_judgements_without_a_header_lose_none(tmp_path: Path) -> None:
    folder = beir(tmp_path / "made")
    judgements = folder / "qrels" / "test.tsv"
    judgements.write_text(judgements.read_text().partition("\n")[2])
    assert read_collection(folder).gains == read_collection(beir(tmp_path / "other")).gains


def test_a_corpus_without_documents(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="there is no document in it"):
        read_collection(beir(tmp_path / "made", corpus=[]))


def test_a_corpus_without_titles(tmp_path: Path) -> None:
    bare = [{"_id": row["_id"], "text": row["text"]} for row in CORPUS]
    assert read_collection(beir(tmp_path / "bare", bare)).documents[0] == "It rained."


def test_the_fingerprint_is_of_what_is_read(tmp_path: Path) -> None:
    made = read_collection(beir(tmp_path / "one"))
    renamed = [{**row, "_id": f"x{row['_id']}"} for row in CORPUS]
    same = [line.replace("\td", "\txd") for line in TEST]
    assert read_collection(beir(tmp_path / "two", renamed, same)).fingerprint == made.fingerprint
    better = [line.replace("d1\t2", "d1\t1") for line in TEST]
    assert read_collection(beir(tmp_path / "three", test=better)).fingerprint != made.fingerprint


DOCUMENTS = """\
.I 1
.T
rain on a
roof .
.A
a. writer
.B
j. 1958.
.W
rain on a
roof .
  it rained .
.A
and .B went on .
.W
to the end .
.I 2
.T
sun
.A
.B
.W
it shone .
.I 3
.T
.A
.B
.W
"""
ASKED = ".I 001\n.W\nrain\non what .\n.I 004\n.W\nsun\n.I 008\n.W\nsnow\n"
JUDGED = ["1 1 1", "1 2 4 ", "2 2 2", "2 1 -1", "3 2 5", "4 1 1", "2 77 3"]


def cranfield(folder: Path, judged: list[str] = JUDGED) -> Path:
    folder.mkdir()
    (folder / "cran.all.1400").write_text(DOCUMENTS, encoding="utf-8")
    (folder / "cran.qry").write_text(ASKED, encoding="utf-8")
    (folder / "cranqrel").write_text("\n".join(judged), encoding="utf-8")
    return folder


def test_cranfield(tmp_path: Path) -> None:
    """Grade 1 is best, -1 and 5 are none; a query goes by its place, whatever its number."""
    found = read_collection(cranfield(tmp_path / "cran"))
    rain = "rain on a roof . it rained . and .B went on . to the end ."
    assert found.documents == (rain, "sun it shone .", "")
    assert found.queries == ("rain on what .", "sun")
    assert found.gains == ({0: 4, 1: 1}, {1: 3})
    assert found.notes == (
        "3 documents, 2 queries, 3 relevant",
        "queries without a relevant document, left out: 1",
        "judgements of unknown documents, left out: 1",
        "judgements of unknown queries, left out: 1",
        "blank documents: 1",
    )


def test_cranfield_as_distributed(shared: Path) -> None:
    found = read_collection(shared / "data" / "retrieval" / "cranfield")
    assert (len(found.queries), sum(map(len, found.gains))) == (225, 1612)
    assert found.queries[3].startswith("can a criterion be developed")
    assert found.gains[0][183] == 3
    assert 485 not in found.gains[0]
    assert "application to turbulent separations" in found.documents[239]


@pytest.mark.parametrize(
    ("corpus", "test", "error"),
    [
        ([*CORPUS, CORPUS[0]], TEST, "two of document 'd1'"),
        ([{"_id": "d1", "title": ""}], TEST, "corpus.jsonl: line 1 has no key 'text'"),
        (CORPUS, ["q1\td1\t1", "q1 d2 1"], "test.tsv, line 3: .*between tabs"),
        (CORPUS, ["q1\td1\tgood"], "test.tsv, line 2: .*whole number"),
        (CORPUS, ["q1\td1\t0"], "no query has a relevant document"),
    ],
)
def test_what_is_wrong_is_named(
    corpus: list[dict[str, str]], test: list[str], error: str, tmp_path: Path
) -> None:
    with pytest.raises(UserError, match=error):
        read_collection(beir(tmp_path / "made", corpus, test))


def test_wrong_grades_and_folders(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"cranqrel, line 2: .*grade"):
        read_collection(cranfield(tmp_path / "cran", ["1 1 1", "1 2"]))
    with pytest.raises(UserError, match=r"neither corpus\.jsonl.* nor cran\.all"):
        read_collection(tmp_path)
    (tmp_path / "cran" / "cran.qry").unlink()
    with pytest.raises(UserError, match=r"cran\.qry: No such file"):
        read_collection(tmp_path / "cran")
