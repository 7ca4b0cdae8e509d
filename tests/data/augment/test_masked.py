"""The masked model: what it may write, and that a row is its own."""

from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
import torch
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast, RobertaForMaskedLM

from embedsearch.data.augment import masked
from embedsearch.data.augment.masked import MaskedWords
from embedsearch.data.augment.words import Words, changed
from embedsearch.errors import UserError
from tests.conftest import tiny_config

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


MARKED = "Bird (bird) and bird."


def bpe() -> Tokenizer:
    """Of bytes, as RoBERTa's: a space belongs to the token behind it, a text begins without one."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    words = ["river", "stone", "bird", "and"]
    texts = [f"{word} {word} ({word})" for word in words for _ in range(50)]
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        special_tokens=["<pad>", "<unk>", "<mask>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def pieces() -> Tokenizer:
    """As SentencePiece's: a text begins as if behind a space."""
    words = ["river", "stone", "bird", "and"]
    known = [*(f"▁{word}" for word in words), *words, "riv", "er", *"▁()."]
    special = [("<pad>", 0.0), ("<unk>", 0.0), ("<mask>", 0.0)]
    tokenizer = Tokenizer(models.Unigram([*special, *((text, -1.0) for text in known)], 1))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace(prepend_scheme="always")]
    )
    tokenizer.decoder = decoders.Metaspace()
    return tokenizer


@pytest.mark.parametrize(
    ("make", "scores", "after"),
    [
        (bpe, {"river": 40, "Ġstone": 40, "er": 80, "<mask>": 80}, "River (river) stone stone."),
        (pieces, {"river": 40, "▁stone": 40, "er": 80, "▁": 80}, "Stone (river) stone stone."),
    ],
)
def test_a_word_is_proposed_as_it_is_spelled_in_its_place(
    make: Callable[[], Tokenizer], scores: dict[str, float], after: str, tmp_path: Path
) -> None:
    """With the mark of a space before it or without: each has a score of its own."""
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=make(),
        pad_token="<pad>",
        unk_token="<unk>",
        mask_token=AddedToken("<mask>", lstrip=True),
    )
    torch.manual_seed(0)
    model = RobertaForMaskedLM(tiny_config("roberta", pad_token_id=0, vocab_size=len(tokenizer)))
    with torch.no_grad():
        for token, score in scores.items():
            model.lm_head.bias[tokenizer.convert_tokens_to_ids(token)] = score
    model.save_pretrained(tmp_path / "model")
    tokenizer.save_pretrained(tmp_path / "model")
    found = MaskedWords(tmp_path / "model").substitute([MARKED], 0.99, randoms(1))
    assert found == [after]


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
