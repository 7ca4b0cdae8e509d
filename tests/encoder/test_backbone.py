"""What is refused before any weight is read, and what is read of a config."""

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from embedsearch.encoder.backbone import EMBEDDED, SUPPORTED, describe, fingerprint, locate
from embedsearch.encoder.model import Encoder
from embedsearch.errors import UserError
from embedsearch.methods.base import Method, MethodConfig
from embedsearch.methods.scd import SCD, SCDConfig
from embedsearch.methods.simcse import SimCSE, SimCSEConfig

Make = Callable[..., Path]


@pytest.mark.parametrize(("name", "architecture"), zip(EMBEDDED, ("bert", "t5"), strict=True))
def test_nanos_are_embedded(name: str, architecture: str) -> None:
    facts = describe(name)
    assert (facts.architecture, facts.dim, facts.layers) == (architecture, 128, 2)
    assert (facts.max_tokens, facts.dropout) == (512, 0.1)


@pytest.mark.parametrize("architecture", SUPPORTED)
def test_config_and_tokenizer_are_read(architecture: str, make_backbone: Make) -> None:
    facts = describe(str(make_backbone(architecture)))
    assert (facts.architecture, facts.dim, facts.layers) == (architecture, 32, 2)
    assert facts.max_tokens == (62 if architecture == "roberta" else 64)
    assert facts.dropout == (0 if architecture == "modernbert" else 0.1)
    outer = (None, "</s>") if architecture == "t5" else ("[CLS]", "[SEP]")
    assert (facts.opening, facts.closing) == outer


def test_highest_of_modernberts_rates_counts(make_backbone: Make) -> None:
    assert describe(str(make_backbone("modernbert", mlp_dropout=0.2))).dropout == 0.2


@pytest.mark.parametrize(("said", "limit"), [(96, 96), (10**30, 512)])
def test_t5_without_n_positions_takes_what_the_tokenizer_says(
    said: int, limit: int, make_backbone: Make
) -> None:
    folder = make_backbone("t5", n_positions=None)
    path = folder / "tokenizer_config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "model_max_length": said}))
    assert describe(str(folder)).max_tokens == limit


def test_pooling_wants_its_special_token(make_backbone: Make) -> None:
    t5 = describe(str(make_backbone("t5")))
    with pytest.raises(UserError, match=r"cls .* before a text, .* none there; .* eos or mean"):
        Method.check(MethodConfig(pooling="cls"), t5)
    Method.check(MethodConfig(pooling="eos"), t5)
    bare = dataclasses.replace(t5, closing=None)
    with pytest.raises(UserError, match=r"eos .* behind a text, .* none there; take pooling mean"):
        Method.check(MethodConfig(pooling="eos"), bare)
    Method.check(MethodConfig(pooling="mean"), bare)


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
    with pytest.raises(UserError, match=r"type 'gpt2'; supported are bert, .*, modernbert, t5"):
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


@pytest.mark.parametrize("architecture", SUPPORTED)
def test_missing_weight_is_an_error(architecture: str, make_backbone: Make) -> None:
    folder = make_backbone(architecture)
    config = json.loads((folder / "config.json").read_text())
    layers = {"distilbert": "n_layers", "t5": "num_layers"}.get(architecture, "num_hidden_layers")
    (folder / "config.json").write_text(json.dumps({**config, layers: 3, "layer_types": None}))
    with pytest.raises(UserError, match="weights are missing"):
        Encoder.load(str(folder), "mean")


def test_the_encoder_of_a_t5_is_loaded_alone(make_backbone: Make) -> None:
    """From a checkpoint with a decoder; the words' embeddings, saved once, are not missing."""
    folder = make_backbone("t5")
    assert "T5Model" in json.loads((folder / "config.json").read_text())["architectures"]
    transformer = Encoder.load(str(folder), "eos").transformer
    assert not [name for name, _ in transformer.named_parameters() if "decoder" in name]
    shared = transformer.get_input_embeddings().weight  # type: ignore[operator]
    assert transformer.get_parameter("encoder.embed_tokens.weight") is shared
    assert shared.std().item() == pytest.approx(1, abs=0.05)


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
    with pytest.raises(ValueError, match="'cls', 'eos', 'mean', 'first_last' or 'top2'"):
        MethodConfig(pooling="pooler")  # type: ignore[arg-type]
