"""Documents out of files and data sets, and what is wrong with a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from embedsearch.data.documents import (
    Document,
    KeptDocuments,
    keep_documents,
    open_documents,
)
from embedsearch.errors import UserError

TWO = [Document("Rain", "It rained.\nAll night."), Document("雨", "今天下雨。我们走了。")]


def written(path: Path, content: str) -> Path:
    path.write_text(content, encoding="utf-8")
    return path


def lines(documents: list[Document], title: str = "title", text: str = "text") -> str:
    rows = [{title: one.title, text: one.text, "id": 1} for one in documents]
    return "\n".join(map(json.dumps, rows))


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_json_and_text_give_the_same(tmp_path: Path, end: str) -> None:
    made = written(tmp_path / "a.jsonl", "\ufeff" + lines(TWO).replace("\n", end * 2) + end)
    plain = f"\n\n{TWO[0].title}\n{TWO[0].text}\n \n\n{TWO[1].title}\n{TWO[1].text}"
    text = written(tmp_path / "a.txt", plain.replace("\n", end))
    assert list(open_documents(made)) == list(open_documents(text)) == TWO
    assert open_documents(made).name == "a.jsonl"


def test_title_first_then_the_sentences() -> None:
    rain, chinese = TWO
    assert rain.sentences == ["Rain", "It rained.", "All night."]
    assert chinese.sentences == ["雨", "今天下雨。", "我们走了。"]
    assert Document(" Help!\n A film ", "x").sentences == ["Help! A film", "x"]


def test_the_fingerprint_is_of_what_is_read(tmp_path: Path) -> None:
    path = written(tmp_path / "a.jsonl", '{"title": "a", "text": "b", "other": "c"}')
    copy = written(tmp_path / "b.jsonl", path.read_text(encoding="utf-8"))
    same, other = open_documents(copy), open_documents(path, text="other")
    assert list(other) == [Document("a", "c")]
    assert open_documents(path).fingerprint == same.fingerprint != other.fingerprint
    written(copy, '{"title": "a", "text": "B"}')
    assert open_documents(copy).fingerprint != same.fingerprint


def test_null_is_blank_and_left_to_the_reader(tmp_path: Path) -> None:
    path = written(
        tmp_path / "a.jsonl", '{"title": null, "text": "b"}\n{"title": "", "text": null}'
    )
    assert list(open_documents(path)) == [Document("", "b"), Document("", "")]
    assert list(open_documents(written(tmp_path / "a.txt", "alone\n\n"))) == [Document("alone", "")]


def test_every_bad_line_is_named(tmp_path: Path) -> None:
    rows = [
        '{"title": "a", "text": "b"}',
        '{"title": "a"}',
        "",
        '{"heading": "a"}',
        '{"title": 3, "text": ["b"]}',
        '{"title": "a", "text": "cut o',
    ]
    path = written(tmp_path / "a.jsonl", "\n".join(rows))
    with pytest.raises(UserError) as caught:
        list(open_documents(path))
    assert str(caught.value) == (
        f"{path}: line 2 has no key 'text' and line 4 has no key 'title' and 'text' and line 5 has "
        "no text under 'title' and 'text' and line 6 is cut off or no JSON object; "
        "mend or remove what is named"
    )


def test_documents_are_read_one_at_a_time(tmp_path: Path) -> None:
    path = written(tmp_path / "a.jsonl", lines(TWO) + "\n{")
    stream = iter(open_documents(path))
    assert [next(stream), next(stream)] == TWO
    with pytest.raises(UserError, match="line 3 is cut off"):
        next(stream)


def test_what_can_not_be_read(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is no file; give a file, demo or hf:NAME"):
        open_documents(tmp_path / "nowhere")
    with pytest.raises(UserError, match="is a folder"):
        open_documents(tmp_path)
    with pytest.raises(UserError, match="can't be read from csv; give JSON Lines or text"):
        open_documents(written(tmp_path / "a.csv", "title,text\na,b"))
    latin = tmp_path / "latin.txt"
    latin.write_bytes("Caf\xe9\nÉté".encode("latin-1"))
    with pytest.raises(UserError, match=r"latin\.txt, line 1: not valid utf-8"):
        list(open_documents(latin))
    assert list(open_documents(latin, encoding="latin-1")) == [Document("Café", "Été")]


def test_hub_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hub"))
    (tmp_path / "set").mkdir()
    written(tmp_path / "set/test.jsonl", lines(TWO, title="name"))
    options: dict[str, Any] = {"title": "name"}
    assert list(open_documents(f"hf:{tmp_path}/set::test", **options)) == TWO
    with pytest.raises(UserError, match="has no column 'title'; its columns are: name, text, id"):
        open_documents(f"hf:{tmp_path}/set::test")


def test_kept_ones_are_the_same_without_their_file(tmp_path: Path) -> None:
    odd = [*TWO, Document("\u2028", "a\u0085b\r\nc"), Document("", "")]
    path = written(tmp_path / "a.jsonl", lines(odd))
    opened = open_documents(path)
    kept = keep_documents(opened, cache=tmp_path / "cache")
    path.unlink()
    again = KeptDocuments.at(kept.folder, "a.jsonl")
    for found in (kept, again):
        assert list(found) == odd and len(found) == 4
        assert (found.name, found.fingerprint) == (opened.name, opened.fingerprint)


def test_they_are_kept_once(tmp_path: Path) -> None:
    opened = open_documents(written(tmp_path / "a.jsonl", lines(TWO)))
    folder = keep_documents(opened, cache=tmp_path / "cache").folder
    (folder / "documents.jsonl").write_text("untouched")
    assert keep_documents(opened, cache=tmp_path / "cache").folder == folder
    assert (folder / "documents.jsonl").read_text() == "untouched"


def test_a_sentence_a_line_is_no_documents(tmp_path: Path) -> None:
    path = written(tmp_path / "corpus.txt", "One line.\nAnother line.\n")
    with pytest.raises(UserError, match=r"there is 1 and it takes several.*blank lines"):
        keep_documents(open_documents(path), cache=tmp_path / "cache")


def test_nothing_is_kept_of_a_broken_file(tmp_path: Path) -> None:
    path = written(tmp_path / "a.jsonl", lines(TWO) + '\n{"title": "x"')
    for _ in range(2):
        with pytest.raises(UserError, match="line 3"):
            keep_documents(open_documents(path), cache=tmp_path / "cache")
