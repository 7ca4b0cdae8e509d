"""Averaged words: of a file, of a transformer, exported and read again."""

import logging
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from embedsearch.encoder.backbone import SUPPORTED, describe
from embedsearch.encoder.export import export
from embedsearch.encoder.model import Encoder
from embedsearch.encoder.projection import Projection
from embedsearch.errors import UserError
from embedsearch.methods.frozen import Frozen, FrozenConfig
from embedsearch.methods.simcse import SimCSE, SimCSEConfig

Make = Callable[..., Path]

TEXTS = ["A cat sat on the mat.", "", "The dog is here", " ".join(["long"] * 90)]


@pytest.fixture
def glove(tmp_path: Path) -> Path:
    path = tmp_path / "glove.txt"
    path.write_text("the 1 0\ncat 0 4\nlong 2 2\n. 3 0\n", encoding="utf-8")
    return path


def opened(folder: Path, texts: Sequence[str]) -> torch.Tensor:
    """The embeddings that sentence-transformers makes of a folder."""
    from sentence_transformers import SentenceTransformer

    logging.getLogger("transformers").setLevel(logging.ERROR)
    model = SentenceTransformer(str(folder), device="cpu", local_files_only=True)
    return torch.tensor(model.encode(list(texts)))


def test_the_mean_is_of_known_words(glove: Path) -> None:
    encoder = Encoder.load(str(glove))
    assert (encoder.dim, encoder.pooling, encoder.facts.layers) == (2, "mean", 0)
    embeddings = encoder.embed(["The cat. The end.", "no such word", *TEXTS])
    wanted = [[8 / 5, 4 / 5], [0, 0], [4 / 3, 4 / 3], [0, 0], [1, 0], [2, 2]]
    torch.testing.assert_close(embeddings, torch.tensor(wanted))


@pytest.mark.parametrize("width", [None, 3])
def test_words_are_exported_and_loaded(glove: Path, width: int | None, tmp_path: Path) -> None:
    encoder = Encoder.load(str(glove), "mean")
    if width is not None:
        encoder.projection = Projection(encoder.dim, width)
    encoder.embed(TEXTS)
    export(encoder, tmp_path / "out")
    torch.testing.assert_close(opened(tmp_path / "out", TEXTS), encoder.embed(TEXTS))
    again = Encoder.load(str(tmp_path / "out"))
    assert torch.equal(again.embed(TEXTS), encoder.embed(TEXTS))
    assert again.facts == describe(str(tmp_path / "out"))


@pytest.mark.parametrize("architecture", SUPPORTED)
def test_static_is_the_mean_of_a_transformers_words(
    architecture: str, make_backbone: Make, tmp_path: Path
) -> None:
    whole = Encoder.load(str(make_backbone(architecture)), "mean")
    encoder = Encoder.load(whole.facts.location, "static")
    matrix = whole.transformer.get_input_embeddings().weight  # type: ignore[operator]
    ids = whole.tokenizer(TEXTS[0], add_special_tokens=False)["input_ids"]
    torch.testing.assert_close(encoder.embed(TEXTS)[0], matrix[ids].mean(0).detach())
    assert encoder.embed(TEXTS)[1].tolist() == [0] * 32
    assert len(whole.tokenizer(TEXTS[0])["input_ids"]) > len(ids), "the other one keeps its own"
    export(encoder, tmp_path / "out")
    theirs = opened(tmp_path / "out", TEXTS)
    torch.testing.assert_close(theirs, encoder.embed(TEXTS))
    assert torch.equal(Encoder.load(str(tmp_path / "out")).embed(TEXTS), encoder.embed(TEXTS))


def test_special_tokens_of_a_static_folder_are_left_out(
    make_backbone: Make, tmp_path: Path
) -> None:
    """As sentence-transformers does, whose own folders have the tokenizer as it was."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import StaticEmbedding

    whole = Encoder.load(str(make_backbone("bert")), "mean")
    vectors = torch.randn(9000, 4, generator=torch.Generator().manual_seed(0))
    model = SentenceTransformer(modules=[StaticEmbedding(whole.tokenizer, vectors)], device="cpu")
    model.save(str(tmp_path / "theirs"))
    ours = Encoder.load(str(tmp_path / "theirs")).embed(TEXTS)
    torch.testing.assert_close(ours, torch.tensor(model.encode(TEXTS)), rtol=0, atol=1e-6)


def test_a_folder_that_is_neither_is_refused(make_backbone: Make) -> None:
    folder = make_backbone("bert")
    (folder / "config.json").unlink()
    with pytest.raises(UserError, match=r"neither a transformer .* nor word vectors"):
        describe(str(folder))
    save_file({"embeddings": torch.ones(2, 2)}, folder / "model.safetensors")
    with pytest.raises(UserError, match=r"has no 'embedding\.weight'"):
        Encoder.load(str(folder))


def test_words_are_averaged_and_not_trained(glove: Path, make_backbone: Make) -> None:
    facts = describe(str(glove))
    Frozen.check(FrozenConfig(), facts)
    for pooling in ("cls", "eos", "first_last", "top2", "static"):
        with pytest.raises(UserError, match=r"glove\.txt is a word table, .* take pooling mean"):
            Frozen.check(FrozenConfig(pooling=pooling), facts)  # type: ignore[arg-type]
        with pytest.raises(UserError, match="take pooling mean"):
            Encoder.load(str(glove), pooling)
    with pytest.raises(UserError, match=r"glove\.txt is a word table, and SimCSE wants a bert or"):
        SimCSE.check(SimCSEConfig(pooling="mean"), facts)
    Frozen.check(FrozenConfig(pooling="static"), describe(str(make_backbone("t5"))))
    with pytest.raises(ValueError, match="pooling"):
        SimCSEConfig(pooling="static")  # type: ignore[arg-type]
