"""What a sentence is made of, what that weighs, and what makes no difference."""

from __future__ import annotations

import pytest

from embedsearch.data.units import GLUE, Weights, take_apart


def texts(sentence: str) -> str:
    return take_apart([sentence], Weights()).text(0)


@pytest.mark.parametrize(
    ("sentence", "units"),
    [
        ("The  Roman-Empire’s FALL (476).", "the roman empire s fall 476"),
        ("Ｆｕｌｌ　ｗｉｄｔｈ ①", "full width 1"),
        ("北京是中国的首都，Beijing市。", "北 京 是 中 国 的 首 都 beijing 市"),
        ("Größe GROSSE naïve nai\u0308ve", "grösse grosse naïve naïve"),
        ("हिन्दी भाषा", "हिन्दी भाषा"),
        ("東京タワー", "東 京 タ ワ ー"),
        ("snake_case 😀 …", "snake case"),
    ],
)
def test_normalised(sentence: str, units: str) -> None:
    assert texts(sentence) == units


def test_weights() -> None:
    units = take_apart(["The river 1968", "", "长江的水 (river)"], Weights())
    assert units.texts == ["the", "river", "1968", "长", "江", "的", "水", "river"]
    assert units.weights.tolist() == [0, 1500, 400, 1000, 1000, 0, 1000, 1500]
    assert units.sentences.tolist() == [0, 0, 0, 2, 2, 2, 2, 2]
    assert units.bounds.tolist() == [0, 3, 3, 8]
    assert units.lengths.tolist() == [900 + 1500 + 400, 0, 4000 + 1500]
    assert units.ids[1] == units.ids[7]
    assert len(set(units.ids.tolist())) == 7
    assert units.text(0, 3) == "the river 1968 长 江 的 水 river"


def test_weights_and_glue_are_parameters() -> None:
    units = take_apart(["The 水 9"], Weights(han=2, letter=0.5, other=0.25, glue=frozenset("水")))
    assert units.weights.tolist() == [1500, 0, 250]
    assert units.lengths.tolist() == [3750]


def test_no_sentences() -> None:
    units = take_apart([], Weights())
    assert (units.texts, units.lengths.tolist(), units.bounds.tolist()) == ([], [], [0])


def test_glue_is_written_as_it_is_met() -> None:
    assert all(texts(word) == word for word in GLUE)
