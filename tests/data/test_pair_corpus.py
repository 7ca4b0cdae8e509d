"""Pairs kept on disk: each once, shuffled by the seed, whole or not at all, mined once."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
from collections import Counter
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from embedsearch.data import pair_corpus
from embedsearch.data.documents import Document, Documents, open_documents
from embedsearch.data.mining import Mining
from embedsearch.data.pair_corpus import MinedPairs, mine_pairs
from embedsearch.data.pair_stream import mine
from embedsearch.data.units import GLUE, Weights
from embedsearch.errors import UserError

PEAKS = ["Everest", "Annapurna", "Kilimanjaro", "Aconcagua", "Matterhorn", "Chimborazo"]


def peak(name: str) -> Document:
    return Document(
        name,
        f"{name} is a high mountain. Nobody climbed {name} in spring. It is cold. {name}高山。",
    )


@pytest.fixture
def documents(tmp_path: Path) -> Documents:
    made = [*map(peak, PEAKS), peak(PEAKS[0]), Document("长江", "长江很长。那是长江。")]
    lacking = [Document("", "no title"), Document("no text", "")]
    rows = [{"title": one.title, "text": one.text} for one in made + lacking]
    path = tmp_path / "documents.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return open_documents(path)


def unordered(pairs: MinedPairs) -> list[frozenset[str]]:
    return [frozenset(pair) for pair in [*pairs.short, *pairs.long]]


def test_rows(documents: Documents, tmp_path: Path) -> None:
    pairs = mine_pairs(documents, cache=tmp_path / "cache")
    short, every = pairs.short, list(pairs.short)
    assert (len(short), len(pairs.long), len(pairs.titles)) == (len(every), 0, 7)
    assert (short[0], short[-1]) == (every[0], every[-1])
    assert short[[2, 0, 2]] == [every[2], every[0], every[2]]
    assert short[np.array([1, 3])] == [every[1], every[3]]
    assert short[1:3] == every[1:3]
    assert list(pairs.long) == pairs.long[[]] == []
    assert (short.name, short.bucket, pairs.long.bucket) == ("documents.jsonl-short", 32, 128)
    assert ("长江", "长江很长。") in every
    assert (peak("Everest").text, "Everest") in list(pairs.titles)


def test_no_pair_twice_and_none_of_a_sentence_with_itself(
    documents: Documents, tmp_path: Path
) -> None:
    pairs = mine_pairs(documents, cache=tmp_path / "cache")
    found = unordered(pairs)
    assert len(set(found)) == len(found)
    assert {len(pair) for pair in found} == {2}
    used = Counter(sentence for pair in found for sentence in pair)
    assert max(used.values()) <= 3
    assert max(count for text, count in used.items() if text not in [*PEAKS, "长江"]) <= 2


def test_counts_say_what_became_of_everything(documents: Documents, tmp_path: Path) -> None:
    pairs = mine_pairs(documents, cache=tmp_path / "cache")
    counts = pairs.counts
    assert (counts.documents, counts.untitled, counts.empty, counts.sentences) == (10, 1, 1, 38)
    assert counts.title_duplicates == 1
    found = counts.alike - counts.used_up - counts.identical
    assert found - counts.duplicates == len(pairs.short) + len(pairs.long)
    assert counts.duplicates == sum("Everest" in " ".join(pair) for pair in pairs.short)
    assert str(counts).startswith(
        "10 documents (1 without a title skipped, 1 without a text skipped, 1 twice), 38 sentences"
    )


def test_the_seed_changes_order_and_nothing_else(documents: Documents, tmp_path: Path) -> None:
    one, again, other = (
        mine_pairs(documents, cache=tmp_path / name, seed=seed)
        for name, seed in (("a", 0), ("b", 0), ("a", 1))
    )
    assert list(one.short) == list(again.short) != list(other.short)
    assert one.short.fingerprint == again.short.fingerprint != other.short.fingerprint
    assert one.folder.name == again.folder.name != other.folder.name
    assert Counter(unordered(one)) == Counter(unordered(other))


def test_workers_and_buffers_change_nothing(
    documents: Documents, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = mine_pairs(documents, cache=tmp_path / "a")
    monkeypatch.setattr(pair_corpus, "mine", partial(mine, chunk_characters=100))
    monkeypatch.setattr(pair_corpus, "Shuffle", partial(pair_corpus.Shuffle, buffer_characters=50))
    done: list[int] = []
    three = mine_pairs(documents, cache=tmp_path / "b", workers=3, progress=done.append)
    for kind in ("short", "long", "titles"):
        assert getattr(alone, kind).fingerprint == getattr(three, kind).fingerprint
    assert alone.counts == three.counts
    assert done == sorted(done) and len(done) > 3 and done[-1] == 10
    assert sorted(path.suffix for path in three.folder.iterdir()) == [".arrow"] * 3 + [".json"]


def test_mined_once(documents: Documents, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = mine_pairs(documents, cache=tmp_path)
    monkeypatch.setattr(pair_corpus, "_write", None)
    assert mine_pairs(documents, cache=tmp_path, workers=2).counts == first.counts
    again = MinedPairs.at(first.folder, "again")
    assert (again.short.name, list(again.short)) == ("again-short", list(first.short))
    weights = Weights(glue=GLUE | {"mountain"})
    for other in (Mining(uses=1), Mining(weights=weights), Mining(long_tokens=64)):
        with pytest.raises(TypeError):
            mine_pairs(documents, other, cache=tmp_path)
    with pytest.raises(TypeError):
        mine_pairs(replace(documents, fingerprint="0"), cache=tmp_path)


def _killed(path: Path, cache: Path) -> None:
    def progress(done: int) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    mine_pairs(open_documents(path), cache=cache, progress=progress)


def test_a_killed_miner_leaves_nothing_half_written(documents: Documents, tmp_path: Path) -> None:
    arguments = (tmp_path / "documents.jsonl", tmp_path / "cache")
    process = multiprocessing.get_context("spawn").Process(target=_killed, args=arguments)
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    left = [path for path in (tmp_path / "cache/pairs").iterdir() if path.suffix != ".lock"]
    assert [path.name.startswith(".") for path in left] == [True]
    pairs = mine_pairs(documents, cache=tmp_path / "cache")
    assert list(pairs.short) == list(mine_pairs(documents, cache=tmp_path / "other").short)
    assert not left[0].exists()


def test_bad_lines_leave_nothing_behind(tmp_path: Path) -> None:
    good = json.dumps({"title": "Everest", "text": "Everest is high."})
    path = tmp_path / "a.jsonl"
    path.write_text(f'{good}\n{{"title": "a"}}\n{good}\n{{"title": "cut', encoding="utf-8")
    with pytest.raises(UserError, match="line 2 has no key 'text' and line 4 is cut off"):
        mine_pairs(open_documents(path), cache=tmp_path)
    assert [file.suffix for file in (tmp_path / "pairs").iterdir()] == [".lock"]


def test_no_pair_at_all_says_why(tmp_path: Path) -> None:
    path = tmp_path / "titles.txt"
    path.write_text("One title\n\nAnother title\n", encoding="utf-8")
    with pytest.raises(UserError) as caught:
        mine_pairs(open_documents(path), cache=tmp_path)
    assert "'titles.txt': no two sentences of a document make a pair (2 documents" in str(
        caught.value
    )
    assert "2 without a text skipped" in str(caught.value)


def test_demo(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    pairs = mine_pairs(open_documents("demo"), cache=tmp_path)
    assert len(pairs.titles) == pairs.counts.documents == 2_000
    assert len(pairs.short) > 5_000
    assert capfd.readouterr() == ("", "")
