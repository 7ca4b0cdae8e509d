"""Which sentences become pairs, in English and in Chinese."""

from __future__ import annotations

import os
from collections import Counter
from typing import Any

import pytest

from embedsearch.data.documents import Document
from embedsearch.data.mining import Mining, mine_chunk
from embedsearch.data.pair_stream import mine
from embedsearch.data.units import GLUE, Weights
from embedsearch.errors import UserError

RIVER = Document(
    "Tiber",
    "The Tiber is the third-longest river in Italy. It rises in the Apennine Mountains. "
    "It is one of the rivers that flow through Rome. The Apennine Mountains are in Italy.",
)
CHINESE = Document(
    "长江",
    "长江是亚洲第一长河。它的发源地在青藏高原。青藏高原被称为“世界屋脊”。中国人也叫它大江。",
)


def pairs(*documents: Document, kinds: str = "short long", **changes: Any) -> list[tuple[str, str]]:
    found, _ = mine_chunk(documents, Mining(**changes), seed=0)
    return [(pair.first, pair.second) for pair in found if pair.kind in kinds.split()]


def counts(*documents: Document, **changes: Any) -> Counter[str]:
    return mine_chunk(documents, Mining(**changes), seed=0)[1]


def test_english() -> None:
    assert pairs(RIVER) == [
        ("It rises in the Apennine Mountains.", "The Apennine Mountains are in Italy.")
    ]
    assert ("Tiber", "The Tiber is the third-longest river in Italy.") in pairs(
        RIVER, short_overlap=1.5
    )


def test_chinese() -> None:
    assert pairs(CHINESE) == [
        ("长江", "长江是亚洲第一长河。"),
        ("它的发源地在青藏高原。", "青藏高原被称为“世界屋脊”。"),
    ]
    traditional = Document("台灣", "臺灣是島。台灣人多。")
    assert pairs(traditional) == [("台灣", "台灣人多。")]


def test_both_scripts_weigh_together() -> None:
    document = Document("Word", "他用 Python 写代码。Python 很好。GPU 上跑。用 GPU 的人。")
    assert pairs(document, short_overlap=1.8) == [("他用 Python 写代码。", "Python 很好。")]
    assert ("GPU 上跑。", "用 GPU 的人。") in pairs(document, short_overlap=0.9)


def test_glue_makes_no_pair() -> None:
    document = Document(
        "Word", "It is one of the best. That was one of the things. 这是我的。那是我的。"
    )
    assert pairs(document) == []
    assert len(pairs(document, weights=Weights(glue=frozenset()))) == 2
    longer = Document("Word", "It was found in Chad. They were found in Mali.")
    assert pairs(longer, short_overlap=1.5) != []
    assert pairs(longer, short_overlap=1.5, weights=Weights(glue=GLUE | {"found"})) == []


def test_words_are_whole() -> None:
    document = Document("Word", "Its international rank. He sat on national seats.")
    assert pairs(document) == []


@pytest.mark.parametrize(("han", "paired"), [(31, True), (63, True), (64, False), (200, False)])
def test_the_threshold_goes_with_the_longer_sentence(han: int, paired: bool) -> None:
    filler = "".join(chr(0x5000 + n) for n in range(han - 2))
    document = Document("题", f"长江{filler}。长江也。")
    found, _ = mine_chunk([document], Mining(), seed=0)
    assert [pair.kind for pair in found] == (["short", "titles"] if paired else ["titles"])
    three = Document("题", f"长江水{filler}。长江水也。")
    assert mine_chunk([three], Mining(), seed=0)[0][0].kind == ("short" if han < 63 else "long")


def test_every_text_is_cropped_to_its_bucket() -> None:
    han = "".join(chr(0x5000 + n) for n in range(300))
    words = " ".join(f"longword{n}" for n in range(85))
    document = Document("Title", f"{han}。前{han}。\n{words}. Xyz {words}.")
    found, _ = mine_chunk([document], Mining(), seed=0)
    (_, _, first, second, *_), (_, _, third, fourth, *_) = found[0], found[-2]
    title = found[-1]
    assert (len(first), len(second)) == (128, 128)
    assert first in han and second.removesuffix("。").removeprefix("前") in han
    for text in (third, fourth):
        assert 30 <= len(text.split()) <= 60 and text in f"Xyz {words}."
        assert set(text.split()) <= set(f"Xyz {words}.".split())
    assert title.kind == "titles"
    assert title.first.startswith(han[:100]) and len(title.first) >= 128
    other, _ = mine_chunk([document], Mining(), seed=1)
    assert [pair.first for pair in other] != [pair.first for pair in found]
    assert found == mine_chunk([document], Mining(), seed=0)[0]


def test_titles() -> None:
    assert pairs(RIVER, CHINESE, kinds="titles") == [
        (RIVER.text, RIVER.title),
        (CHINESE.text, CHINESE.title),
    ]


def test_no_sentence_is_used_too_often() -> None:
    text = " ".join(f"Number{n} is like Andromeda here." for n in range(9))
    document = Document("Andromeda", text)
    for uses, title_uses in ((1, 1), (2, 3), (3, 1)):
        used = Counter(
            side for pair in pairs(document, uses=uses, title_uses=title_uses) for side in pair
        )
        assert used.pop("Andromeda") == title_uses
        assert max(used.values()) == uses
    assert counts(document)["alike"] == 45
    assert counts(document)["used_up"] == 45 - len(pairs(document))


def test_a_sentence_makes_no_pair_with_itself() -> None:
    document = Document("Mount Everest", "mount EVEREST! Mount Everest is high. Mount Everest.")
    assert all(a.lower().strip(".!") != b.lower().strip(".!") for a, b in pairs(document))
    assert counts(document)["identical"] == 3


def test_reach() -> None:
    text = "Everest is high. " + "He said no more. " * 5 + "So Everest was climbed."
    assert len(pairs(Document("Peaks", text), reach=6)) == 1
    assert len(pairs(Document("Peaks", text), reach=5)) == 0
    assert len(pairs(Document("Everest", text), reach=1)) == 2


def test_without_overlaps_every_pair_is_one() -> None:
    document = Document("One", "Two. Three. Four.\n...")
    taken = pairs(document, short_overlap=0, long_overlap=0, uses=9, title_uses=9)
    names = ["One", "Two.", "Three.", "Four."]
    assert taken == [(a, b) for n, a in enumerate(names) for b in names[n + 1 :]]


def test_what_lacks_a_title_or_a_text_is_counted() -> None:
    lacking = [
        Document(" ", "text"),
        Document("t", "\u200b"),
        Document("", ""),
        Document("a\0", "b"),
    ]
    found = counts(RIVER, *lacking)
    assert {name: found[name] for name in ("documents", "untitled", "empty", "nul")} == {
        "documents": 5,
        "untitled": 2,
        "empty": 1,
        "nul": 1,
    }


@pytest.mark.parametrize("workers", [2, 3])
def test_workers_change_nothing(workers: int) -> None:
    documents = [RIVER, CHINESE, Document("", "x"), Document("Peaks", "Everest. Big Everest.")] * 3
    alone = list(mine(documents, Mining(), 5, 1, chunk_characters=200))
    assert len(alone) > workers
    assert list(mine(documents, Mining(), 5, workers, chunk_characters=200)) == alone
    whole, _ = mine_chunk(documents, Mining(), 5)
    assert Counter(pair for found, _ in alone for pair in found) == Counter(whole)


class Deadly(Document):
    """Ends the process that unpickles it."""

    def __reduce__(self) -> Any:
        return os._exit, (1,)


def test_a_killed_worker_is_told() -> None:
    with pytest.raises(UserError, match=r"a process was killed.*; give fewer workers"):
        list(mine([RIVER, Deadly("a", "b")], Mining(), 0, 2, chunk_characters=1))


def test_keys_are_equal_for_either_order_and_change_with_the_seed() -> None:
    there = Document("x", "Everest is high. Big Everest.")
    back = Document("x", "BIG Everest! Everest is high.")
    (one, _), (other, _) = (mine_chunk([document], Mining(), 0)[0] for document in (there, back))
    assert one.key == other.key != mine_chunk([there], Mining(), 1)[0][0].key


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"uses": 0}, "uses is 0; give 1 or more"),
        ({"reach": -1}, "reach is -1"),
        ({"short_overlap": 4}, "short_overlap 4 and long_overlap 3; give 0 < short <= long"),
        ({"short_overlap": 0}, "or 0 for both"),
    ],
)
def test_parameters_are_checked(changes: dict[str, Any], told: str) -> None:
    with pytest.raises(UserError, match=told):
        Mining(**changes)
