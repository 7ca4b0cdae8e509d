"""T5's decoder on the encoder's own words: the losses of the whole model, and nothing twice."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor

from embedsearch.encoder.export import export
from embedsearch.encoder.model import Encoder
from embedsearch.encoder.seq2seq import SequenceDecoder, sentinels
from embedsearch.errors import UserError
from tests.conftest import tiny_config

Make = Callable[..., Path]


@pytest.fixture(params=[True, False], ids=["tied", "untied"])
def folder(request: pytest.FixtureRequest, make_backbone: Make) -> Path:
    """A T5 whose head is its words', or one with its own, as later ones have."""
    from transformers import T5ForConditionalGeneration

    made = make_backbone("t5")
    torch.manual_seed(1)
    config = tiny_config("t5", tie_word_embeddings=request.param)
    T5ForConditionalGeneration(config).save_pretrained(made)
    return made


def texts(lengths: list[int]) -> dict[str, Tensor]:
    ids = torch.randint(300, 500, (4, 7), generator=torch.Generator().manual_seed(2))
    mask = (torch.arange(7) < torch.tensor(lengths)[:, None]).long()
    return {"input_ids": ids * mask, "attention_mask": mask}


SEEN, WRITTEN = texts([7, 3, 5, 7]), texts([2, 7, 1, 4])


def test_losses_are_the_whole_models(folder: Path) -> None:
    from transformers import T5ForConditionalGeneration

    encoder = Encoder.load(str(folder), "eos").eval()
    decoder = SequenceDecoder(encoder).eval()
    losses = decoder(encoder.states(SEEN), SEEN["attention_mask"], WRITTEN)
    whole = T5ForConditionalGeneration.from_pretrained(folder).eval()
    for row in range(4):
        length = int(WRITTEN["attention_mask"][row].sum())
        labels = WRITTEN["input_ids"][row : row + 1, :length]
        mine = {name: value[row : row + 1] for name, value in SEEN.items()}
        mean = whole(**mine, labels=labels).loss
        assert losses[row, 1] == length
        torch.testing.assert_close(losses[row, 0], mean * length, rtol=1e-4, atol=1e-4)


def test_words_are_the_encoders(folder: Path) -> None:
    encoder = Encoder.load(str(folder), "eos")
    words = encoder.transformer.get_input_embeddings().weight
    decoder = SequenceDecoder(encoder)
    assert decoder.decoder.get_input_embeddings().weight is words
    own = [p for p in decoder.parameters() if p.shape == words.shape and p is not words]
    assert len(own) == (decoder.head.weight is not words)


def test_a_later_token_moves_no_earlier_loss(folder: Path) -> None:
    encoder = Encoder.load(str(folder), "eos").eval()
    decoder, states = SequenceDecoder(encoder).eval(), encoder.states(SEEN)

    def first_three(ids: Tensor) -> Tensor:
        mask = torch.ones_like(ids)
        mask[:, 3:] = 0
        found: Tensor = decoder(
            states, SEEN["attention_mask"], {"input_ids": ids, "attention_mask": mask}
        )
        return found

    ids = torch.full((4, 7), 301)
    changed = ids.clone()
    changed[:, 3:] = 477
    torch.testing.assert_close(first_three(ids), first_three(changed))
    changed[:, 0] = 477
    assert (first_three(ids)[:, 0] != first_three(changed)[:, 0]).all()


def test_sentinels_in_their_order(make_backbone: Make) -> None:
    encoder = Encoder.load(str(make_backbone("t5")), "eos")
    found = sentinels(encoder.tokenizer)
    assert len(found) == 100
    assert encoder.tokenizer.convert_ids_to_tokens(found[:2]) == ["<extra_id_0>", "<extra_id_1>"]
    bert = Encoder.load(str(make_backbone("bert")), "cls")
    assert sentinels(bert.tokenizer) == []


def test_an_encoder_alone_is_refused(make_backbone: Make, tmp_path: Path) -> None:
    encoder = Encoder.load(str(make_backbone("t5")), "eos")
    export(encoder, tmp_path / "out")
    alone = Encoder.load(str(tmp_path / "out"), "eos")
    with pytest.raises(UserError, match=r"encoder without its decoder.*lm=false"):
        SequenceDecoder(alone)
