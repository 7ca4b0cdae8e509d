"""What is refused before any weight is read, and what is read of a config."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from embedsearch.encoder.backbone import describe, fingerprint, locate
from embedsearch.encoder.model import Encoder
from embedsearch.errors import UserError
from embedsearch.methods.base import MethodConfig
from embedsearch.methods.scd import SCD, SCDConfig
from embedsearch.methods.simcse import SimCSE, SimCSEConfig

Make = Callable[..., Path]


def test_nano_is_embedded() -> None:
    facts = describe("nano")
    assert (facts.architecture, facts.dim, facts.layers) == ("bert", 128, 2)


def test_roberta_loses_the_positions_behind_its_padding(make_backbone: Make) -> None:
    folder = make_backbone("roberta", max_position_embeddings=20)
    facts = describe(str(folder))
    assert facts.max_tokens == 18
    with pytest.raises(UserError, match=r"max_length 19 .* 18 tokens"):
        SCD.check(SCDConfig(max_length=19), facts)
    SCD.check(SCDConfig(max_length=18), facts)
    long_text = " ".join(["word"] * 40)
    assert Encoder.load(str(folder), "mean").embed([long_text]).shape == (1, 32)


def test_unsupported_architecture_is_refused(tmp_path: Path) -> None:
    from transformers import GPT2Config

    GPT2Config().save_pretrained(tmp_path)
    with pytest.raises(UserError, match="type 'gpt2'; supported are bert, roberta, distilbert"):
        describe(str(tmp_path))


def test_only_safetensors_are_opened(make_backbone: Make) -> None:
    folder = make_backbone("bert")
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(UserError, match=r"no \*\.safetensors"):
        describe(str(folder))


def test_missing_folder_is_one_sentence() -> None:
    with pytest.raises(UserError, match=r"'\./nothing': there is no such folder"):
        locate("./nothing")


def test_unknown_hub_name_names_the_way_out() -> None:
    with pytest.raises(UserError, match="neither a folder nor in the local hub cache"):
        locate("no-such-owner/no-such-model")


def test_missing_weight_is_an_error(make_backbone: Make) -> None:
    folder = make_backbone("bert")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "num_hidden_layers": 3}))
    with pytest.raises(UserError, match="weights are missing"):
        Encoder.load(str(folder), "cls")


def test_fingerprint_is_of_content(make_backbone: Make, tmp_path: Path) -> None:
    folder = make_backbone("bert")
    before = fingerprint(folder)
    moved = folder.rename(tmp_path / "elsewhere")
    assert fingerprint(moved) == before
    weights = moved / "model.safetensors"
    data = bytearray(weights.read_bytes())
    data[-1] ^= 1
    weights.write_bytes(bytes(data))
    assert fingerprint(moved) != before


def test_simcse_needs_dropout(make_backbone: Make) -> None:
    still = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    facts = describe(str(make_backbone("bert", **still)))
    with pytest.raises(UserError, match=r"is zero.*dropout=0\.1"):
        SimCSE.check(SimCSEConfig(), facts)
    SimCSE.check(SimCSEConfig(dropout=0.1), facts)


def test_pooler_is_no_pooling() -> None:
    with pytest.raises(ValueError, match="'cls', 'mean', 'first_last' or 'top2'"):
        MethodConfig(pooling="pooler")  # type: ignore[arg-type]
