"""The masked model: what it may write, and that a row is its own."""

from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from embedsearch.data.augment import masked
from embedsearch.data.augment.masked import MaskedWords
from embedsearch.data.augment.words import Words, changed
from embedsearch.errors import UserError

Make = Callable[..., Path]

SENTENCES = [
    "The river flows near the old market, and a teacher sings.",
    "Quiet!",
    "🙂",
    "Unbelievably, it rained all winter in the garden behind the house.",
    "我们 go",
]


def randoms(count: int) -> list[Random]:
    return [Random(f"0/{row}") for row in range(count)]


def differences(before: str, after: str) -> list[tuple[str, str]]:
    pairs = zip(Words.of(before).words, Words.of(after).words, strict=True)
    return [pair for pair in pairs if pair[0] != pair[1]]


@pytest.mark.parametrize("rate", [0.05, 0.1, 0.2])
def test_the_rates_words_become_other_whole_words(rate: float, make_masked_model: Make) -> None:
    model = MaskedWords(make_masked_model())
    for before, after in zip(SENTENCES, model.substitute(SENTENCES, rate, randoms(5)), strict=True):
        words = Words.of(before)
        assert Words.of(after).gaps == words.gaps
        assert len(differences(before, after)) == (changed(rate, len(words)) if len(words) else 0)
        for _, new in differences(before, after):
            assert len(model.tokenizer.tokenize(new)) == 1


def test_pieces_punctuation_special_tokens_and_the_word_itself_are_not_taken(
    make_masked_model: Make,
) -> None:
    scores = {"##el": 80, ".": 80, "[SEP]": 80, "river": 80, "stone": 40}
    model = MaskedWords(make_masked_model(**scores))
    assert model.substitute(["River.", "bird"], 0.1, randoms(2)) == ["Stone.", "river"]


def test_a_row_does_not_hang_on_the_rows_beside_it(
    make_masked_model: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = MaskedWords(make_masked_model())
    together = model.substitute(SENTENCES, 0.2, randoms(5))
    alone = [
        model.substitute([sentence], 0.2, [Random(f"0/{row}")])[0]
        for row, sentence in enumerate(SENTENCES)
    ]
    monkeypatch.setattr(masked, "_TOKENS", 20)
    assert together == alone == model.substitute(SENTENCES, 0.2, randoms(5))
    assert together != model.substitute(SENTENCES, 0.2, [Random(f"1/{row}") for row in range(5)])


def test_what_the_model_cannot_take_stays(make_masked_model: Make) -> None:
    model = MaskedWords(make_masked_model())
    sentence = " ".join(["river"] * 100)
    after = model.substitute([sentence], 0.99, randoms(1))[0].split()
    assert after[model.limit :] == ["river"] * (100 - model.limit)
    assert "river" not in after[: model.limit - 2]


def test_what_is_no_masked_model_is_refused(make_masked_model: Make, make_backbone: Make) -> None:
    with pytest.raises(UserError, match=r"its weight 'cls\.predictions.*' is missing"):
        MaskedWords(make_backbone("bert"))
    folder = make_masked_model()
    (folder / "model.safetensors").unlink()
    with pytest.raises(UserError, match=r"augment ctxt can't use .*augment_source=NAME_OR_FOLDER"):
        MaskedWords(folder)


def test_without_a_mask_token_it_is_refused(make_masked_model: Make) -> None:
    from transformers import AutoTokenizer

    folder = make_masked_model()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    tokenizer.mask_token = None
    tokenizer.save_pretrained(folder)
    with pytest.raises(UserError, match="it has no mask token"):
        MaskedWords(folder)
