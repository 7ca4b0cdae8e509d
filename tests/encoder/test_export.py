"""What is exported opens in the libraries of the field and embeds the same."""

import logging
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from embedsearch.encoder.backbone import SUPPORTED
from embedsearch.encoder.export import export
from embedsearch.encoder.model import Encoder
from embedsearch.encoder.pooling import LAYERS
from embedsearch.encoder.projection import Activation, Projection
from embedsearch.encoder.seq2seq import SequenceDecoder
from tests.conftest import tiny_config

TEXTS = ["A cat sat on the mat.", "The dog is here", "x", " ".join(["long"] * 90)]


def assert_opens_the_same(
    encoder: Encoder, folder: Path, decoder: SequenceDecoder | None = None
) -> None:
    """Sentence-transformers gives the encoder's embeddings from what it exports."""
    from sentence_transformers import SentenceTransformer

    export(encoder, folder, decoder)
    logging.getLogger("transformers").setLevel(logging.ERROR)
    opened = SentenceTransformer(str(folder), device="cpu", local_files_only=True)
    assert opened.get_embedding_dimension() == encoder.dim
    theirs = torch.tensor(opened.encode(TEXTS))
    torch.testing.assert_close(encoder.embed(TEXTS), theirs, rtol=0, atol=2e-6)


@pytest.mark.parametrize("pooling", LAYERS)
@pytest.mark.parametrize("architecture", SUPPORTED)
def test_sentence_transformers_gives_the_same(
    architecture: str, pooling: str, make_backbone: Callable[..., Path], tmp_path: Path
) -> None:
    encoder = Encoder.load(str(make_backbone(architecture)), pooling)
    assert_opens_the_same(encoder, tmp_path / "out")


@pytest.mark.parametrize("activation", ["tanh", "identity"])
@pytest.mark.parametrize(("architecture", "pooling"), [("t5", "eos"), ("bert", "first_last")])
def test_projection_is_exported_with_the_encoder(
    architecture: str,
    pooling: str,
    activation: Activation,
    make_backbone: Callable[..., Path],
    tmp_path: Path,
) -> None:
    encoder = Encoder.load(str(make_backbone(architecture)), pooling)
    encoder.projection = Projection(encoder.dim, 8, activation)
    assert_opens_the_same(encoder, tmp_path / "out")
    assert encoder.embed(TEXTS).shape == (len(TEXTS), 8)
    assert not list((tmp_path / "out").rglob("*.bin"))


def test_exported_t5_is_an_encoder(make_backbone: Callable[..., Path], tmp_path: Path) -> None:
    from transformers import T5EncoderModel

    encoder = Encoder.load(str(make_backbone("t5")), "eos").eval()
    export(encoder, tmp_path / "out")
    opened, loading = T5EncoderModel.from_pretrained(tmp_path / "out", output_loading_info=True)
    assert not any(loading.values())
    ids = torch.tensor([encoder.tokenizer(TEXTS[0])["input_ids"]])
    with torch.no_grad():
        state = opened.eval()(input_ids=ids).last_hidden_state[0, -1]
    torch.testing.assert_close(encoder.embed(TEXTS[:1])[0], state, rtol=0, atol=1e-6)
    again = Encoder.load(str(tmp_path / "out"), "eos")
    assert again.facts.max_tokens == encoder.facts.max_tokens
    assert torch.equal(encoder.embed(TEXTS), again.embed(TEXTS))


@pytest.mark.parametrize("tied", [True, False])
def test_a_decoder_is_exported_with_its_encoder(
    tied: bool, make_backbone: Callable[..., Path], tmp_path: Path
) -> None:
    """One T5, as it is trained by then: the field's libraries open all of it or the encoder."""
    from transformers import T5EncoderModel, T5ForConditionalGeneration

    folder = make_backbone("t5")
    whole = T5ForConditionalGeneration(tiny_config("t5", tie_word_embeddings=tied))
    whole.save_pretrained(folder)
    encoder = Encoder.load(str(folder), "eos").eval()
    encoder.projection = Projection(encoder.dim, 8)
    decoder = SequenceDecoder(encoder).eval()
    with torch.no_grad():
        for parameter in {*encoder.parameters(), *decoder.parameters()}:
            parameter.add_(0.1 * torch.randn_like(parameter))
    assert_opens_the_same(encoder, tmp_path / "out", decoder)
    assert encoder.embed(TEXTS).shape == (len(TEXTS), 8)
    batch = encoder.tokenizer(TEXTS[:1], return_tensors="pt")
    losses = decoder(encoder.states(batch), batch["attention_mask"], batch)[0]
    opened, loading = T5ForConditionalGeneration.from_pretrained(
        tmp_path / "out", output_loading_info=True
    )
    assert not any(loading.values())
    loss = opened.eval()(**batch, labels=batch["input_ids"]).loss
    torch.testing.assert_close(loss, losses[0] / losses[1], rtol=1e-4, atol=1e-4)
    assert not T5EncoderModel.from_pretrained(tmp_path / "out", output_loading_info=True)[1][
        "missing_keys"
    ]


def test_export_is_a_backbone_again(make_backbone: Callable[..., Path], tmp_path: Path) -> None:
    encoder = Encoder.load(str(make_backbone("bert")), "mean")
    export(encoder, tmp_path / "out")
    again = Encoder.load(str(tmp_path / "out"), "mean")
    assert torch.equal(encoder.embed(TEXTS), again.embed(TEXTS))
    assert not list((tmp_path / "out").rglob("*.bin"))


def test_embed_keeps_order_and_mode(make_backbone: Callable[..., Path]) -> None:
    encoder = Encoder.load(str(make_backbone("bert")), "mean").train()
    rows = encoder.embed(TEXTS, batch_size=2)
    single = torch.cat([encoder.embed([text]) for text in TEXTS])
    torch.testing.assert_close(rows, single, rtol=0, atol=1e-5)
    assert encoder.training
    assert encoder.embed([]).shape == (0, 32)


def test_texts_are_cut_at_the_backbone_limit_not_before(
    make_backbone: Callable[..., Path],
) -> None:
    encoder = Encoder.load(str(make_backbone("bert")), "mean")
    words = ["day", "night"] * 60
    at_limit = encoder.embed([" ".join(words[:62]), " ".join(words)])
    assert torch.equal(at_limit[0], at_limit[1])
    assert not torch.equal(encoder.embed([" ".join(words[:61])])[0], at_limit[0])
