"""Small backbones made offline, and the environment every test runs in."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["HF_DATASETS_OFFLINE"] = "1"

import pytest
import torch

SHARED = Path(__file__).parents[2] / "shared"


@pytest.fixture
def shared() -> Path:
    """Real data beside the checkout; a machine without it skips what needs it."""
    if not SHARED.is_dir():
        pytest.skip("real data is not on this machine")
    return SHARED


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No test sees or touches the store of the checkout."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    yield
    torch.use_deterministic_algorithms(False)


def tiny_config(architecture: str, **changes: Any) -> Any:
    """A config of two layers, 32 wide, for the embedded tokenizer."""
    from transformers import BertConfig, DistilBertConfig, RobertaConfig

    size = {"vocab_size": 9000, "max_position_embeddings": 64}
    wide = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}
    bert = {**size, **wide, "intermediate_size": 64}
    distil = {**size, "dim": 32, "n_layers": 2, "n_heads": 2, "hidden_dim": 64}
    makers: dict[str, Callable[[], Any]] = {
        "bert": lambda: BertConfig(**{**bert, **changes}),
        "roberta": lambda: RobertaConfig(**{**bert, "pad_token_id": 1, **changes}),
        "distilbert": lambda: DistilBertConfig(**{**distil, **changes}),
    }
    return makers[architecture]()


@pytest.fixture
def make_backbone(tmp_path: Path) -> Callable[..., Path]:
    """A folder with a tiny random backbone of an architecture and the embedded tokenizer."""
    from transformers import AutoModel, AutoTokenizer

    from embedsearch.encoder.backbone import locate

    def make(architecture: str = "bert", **changes: Any) -> Path:
        folder = tmp_path / f"{architecture}-{len(list(tmp_path.iterdir()))}"
        torch.manual_seed(0)
        AutoModel.from_config(tiny_config(architecture, **changes)).save_pretrained(folder)
        AutoTokenizer.from_pretrained(locate("nano")).save_pretrained(folder)
        return folder

    return make
