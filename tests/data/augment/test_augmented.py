"""The augmented corpus: row for row the corpus's, made once, whole or not at all."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from embedsearch.data import augment
from embedsearch.data.augment import Augmentation, augmented
from embedsearch.data.augment.words import Words, changed
from embedsearch.data.corpus import Corpus, open_corpus
from embedsearch.records import Source
from tests.data.augment.dictionary import write_wordnet

Make = Callable[..., Path]

NOTHING = Source("", "")
WDEL = Augmentation("wdel", 0.2, NOTHING)


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    lines = [f"Sentence {i} says that the river is quiet today" for i in range(60)]
    lines[7:9] = ["Stop!", "🙂🙂"]
    (tmp_path / "corpus.txt").write_text("\n".join(lines), encoding="utf-8")
    return open_corpus(tmp_path / "corpus.txt", cache=tmp_path / "cache")


def test_row_i_is_made_of_row_i(corpus: Corpus, tmp_path: Path) -> None:
    made = augmented(corpus, WDEL, 0, cache=tmp_path / "cache")
    assert len(made) == len(corpus)
    for before, after in zip(corpus, made, strict=True):
        words, kept = Words.of(before).words, Words.of(after).words
        gone = len(words) - len(kept)
        assert gone == (changed(0.2, len(words)) if len(words) > 1 else 0)
        assert kept == [word for word in words if word in kept]
    assert made[[7, 8]] == ["Stop!", "🙂🙂"]


@pytest.mark.parametrize("kind", ["wdel", "wnet", "ctxt"])
def test_a_row_is_the_same_in_whatever_chunks(
    kind: Any, corpus: Corpus, tmp_path: Path, make_masked_model: Make,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    makers = {"wnet": lambda: write_wordnet(tmp_path / "dict"), "ctxt": make_masked_model}
    folder = makers[kind]() if kind in makers else ""
    augmentation = Augmentation(kind, 0.2, Source(str(folder), "print"))
    texts = []
    for chunk in (1_000, 7):
        monkeypatch.setattr(augment, "_CHUNK", chunk)
        made = augmented(corpus, augmentation, 0, cache=tmp_path / str(chunk))
        assert len(made) == len(corpus)
        texts.append(list(made))
    assert texts[0] == texts[1] != list(corpus)


def test_everything_that_decides_it_is_in_its_key(
    corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = tmp_path / "cache"
    made = augmented(corpus, WDEL, 0, cache=cache)
    (tmp_path / "other.txt").write_text("One line here\nAnother line there\n")
    other = open_corpus(tmp_path / "other.txt", cache=cache)
    changes: list[tuple[Corpus, Augmentation, int]] = [
        (other, WDEL, 0),
        (corpus, Augmentation("wdel", 0.1, NOTHING), 0),
        (corpus, Augmentation("wdel", 0.2, Source("", "print")), 0),
        (corpus, WDEL, 1),
    ]
    folders = {augmented(*change, cache=cache).folder for change in changes}
    assert len(folders) == 4 and made.folder not in folders
    monkeypatch.setattr(augment, "rewriter", None)
    elsewhere = Augmentation("wdel", 0.2, Source("/elsewhere", ""))
    assert augmented(corpus, elsewhere, 0, cache=cache).folder == made.folder


def test_seeds_differ(corpus: Corpus, tmp_path: Path) -> None:
    one, two = (augmented(corpus, WDEL, seed, cache=tmp_path / "cache") for seed in (0, 1))
    assert list(one) != list(two) and one.fingerprint != two.fingerprint


def test_several_at_once_make_it_once(
    corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded: list[str] = []
    rewriter = augment.rewriter
    monkeypatch.setattr(augment, "rewriter", lambda *of: loaded.append(of[2]) or rewriter(*of))
    with ThreadPoolExecutor(3) as pool:
        ask = pool.map(lambda _: augmented(corpus, WDEL, 0, cache=tmp_path / "cache"), range(3))
    assert len({made.fingerprint for made in ask}) == 1 == len(loaded)


def test_killed_in_the_middle_leaves_nothing_half_written(
    corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache, whole = tmp_path / "cache", augmented(corpus, WDEL, 0, cache=tmp_path / "whole")
    seen: list[str] = []

    def die(sentence: str, *rest: Any) -> str:
        seen.append(sentence)
        if len(seen) == 40:
            raise KeyboardInterrupt
        return sentence

    with monkeypatch.context() as patch:
        patch.setattr(augment, "_CHUNK", 10)
        patch.setattr(augment, "delete", die)
        with pytest.raises(KeyboardInterrupt):
            augmented(corpus, WDEL, 0, cache=cache)
    assert [path for path in (cache / "augmented").iterdir() if path.suffix != ".lock"] == []
    assert list(augmented(corpus, WDEL, 0, cache=cache)) == list(whole)


def test_a_row_too_few_is_never_kept(
    corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A blank row would shift all that come after it."""
    monkeypatch.setattr(
        augment, "delete", lambda sentence, *_: "" if "30" in sentence else sentence
    )
    with pytest.raises(ValueError, match="59 rows were made where 60 belong"):
        augmented(corpus, WDEL, 0, cache=tmp_path / "cache")
    assert not [path for path in (tmp_path / "cache" / "augmented").iterdir() if path.is_dir()]
