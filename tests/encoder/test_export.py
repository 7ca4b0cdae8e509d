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

TEXTS = ["A cat sat on the mat.", "The dog is here", "x", " ".join(["long"] * 90)]


@pytest.mark.parametrize("pooling", LAYERS)
@pytest.mark.parametrize("architecture", SUPPORTED)
def test_sentence_transformers_gives_the_same(
    architecture: str, pooling: str, make_backbone: Callable[..., Path], tmp_path: Path
) -> None:
    from sentence_transformers import SentenceTransformer

    encoder = Encoder.load(str(make_backbone(architecture)), pooling)
    export(encoder, tmp_path / "out")
    logging.getLogger("transformers").setLevel(logging.ERROR)
    opened = SentenceTransformer(str(tmp_path / "out"), device="cpu", local_files_only=True)
    theirs = torch.tensor(opened.encode(TEXTS))
    torch.testing.assert_close(encoder.embed(TEXTS), theirs, rtol=0, atol=1e-6)


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
