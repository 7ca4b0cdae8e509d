"""Documents out of files and data sets, and what is wrong with a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from embedsearch.data.documents import Document, open_documents
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
