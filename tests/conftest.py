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
    """A config of two layers, 32 wide, for the embedded tokenizers; dropout 0.1, ModernBERT's 0."""
    from transformers import (
        BertConfig,
        DistilBertConfig,
        ModernBertConfig,
        RobertaConfig,
        T5Config,
    )

    size = {"vocab_size": 9000, "max_position_embeddings": 64}
    wide = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}
    bert = {**size, **wide, "intermediate_size": 64}
    distil = {**size, "dim": 32, "n_layers": 2, "n_heads": 2, "hidden_dim": 64}
    modern = {**bert, "local_attention": 8, "pad_token_id": 0, "cls_token_id": 2}
    modern |= {"sep_token_id": 3, "bos_token_id": None, "eos_token_id": None}
    t5 = {"vocab_size": 9000, "n_positions": 64, "d_model": 32, "d_kv": 16, "d_ff": 64}
    t5 |= {"num_layers": 2, "num_heads": 2, "decoder_start_token_id": 0}
    makers: dict[str, Callable[[], Any]] = {
        "bert": lambda: BertConfig(**{**bert, **changes}),
        "roberta": lambda: RobertaConfig(**{**bert, "pad_token_id": 1, **changes}),
        "distilbert": lambda: DistilBertConfig(**{**distil, **changes}),
        "modernbert": lambda: ModernBertConfig(**{**modern, **changes}),
        "t5": lambda: T5Config(**{**t5, **changes}),
    }
    return makers[architecture]()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """``-m gpu`` where there is none: said, and not failed."""
    if not torch.cuda.is_available():
        for item in items:
            if item.get_closest_marker("gpu"):
                item.add_marker(pytest.mark.skip(reason="no GPU here"))


@pytest.fixture
def make_backbone(tmp_path: Path) -> Callable[..., Path]:
    """A folder with a tiny random backbone of an architecture and its embedded tokenizer.

    A T5 has its decoder and the tokenizer of ``nano-t5``: ``</s>`` at the end, ``<extra_id_0>`` ….
    """
    from transformers import AutoModel, AutoTokenizer

    from embedsearch.encoder.backbone import locate

    def make(architecture: str = "bert", **changes: Any) -> Path:
        folder = tmp_path / f"{architecture}-{len(list(tmp_path.iterdir()))}"
        torch.manual_seed(0)
        AutoModel.from_config(tiny_config(architecture, **changes)).save_pretrained(folder)
        nano = locate("nano-t5" if architecture == "t5" else "nano")
        AutoTokenizer.from_pretrained(nano).save_pretrained(folder)
        return folder

    return make


@pytest.fixture
def make_masked_model(tmp_path: Path) -> Callable[..., Path]:
    """A folder with a tiny random masked language model that adds to the scores of some tokens."""
    from transformers import AutoModelForMaskedLM, AutoTokenizer

    from embedsearch.encoder.backbone import locate

    def make(**scores: float) -> Path:
        folder = tmp_path / f"masked-{len(list(tmp_path.iterdir()))}"
        tokenizer = AutoTokenizer.from_pretrained(locate("nano"))
        torch.manual_seed(0)
        model = AutoModelForMaskedLM.from_config(tiny_config("bert"))
        with torch.no_grad():
            for token, score in scores.items():
                model.cls.predictions.bias[tokenizer.convert_tokens_to_ids(token)] = score
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        return folder

    return make


@pytest.fixture
def make_setting(make_backbone: Callable[..., Path], tmp_path: Path) -> Callable[..., Any]:
    """A setting of seconds: a tiny backbone, 40 sentences, 12 scored pairs, 4 steps."""
    from embedsearch.data.corpus import open_corpus
    from embedsearch.data.pairs import read_dev_pairs
    from embedsearch.encoder.backbone import describe, fingerprint
    from embedsearch.records import Source
    from embedsearch.setting import Setting

    words = [
        "river",
        "stone",
        "bird",
        "music",
        "market",
        "winter",
        "teacher",
        "garden",
        "engine",
        "paper",
    ]
    lines = [f"The {a} near the {b} is quiet." for a in words[:8] for b in words[5:]]
    (tmp_path / "corpus.txt").write_text("\n".join(lines), encoding="utf-8")
    pairs = [
        f"{i % 6}\tA {words[i % 10]} is here.\tThe {words[i * 3 % 10]} was there."
        for i in range(12)
    ]
    (tmp_path / "dev.tsv").write_text("\n".join(pairs), encoding="utf-8")

    def make(backbone: Path | None = None, **changes: Any) -> Setting:
        facts = describe(str(backbone or make_backbone("bert")))
        corpus = open_corpus(tmp_path / "corpus.txt", cache=tmp_path / "storage" / "cache")
        dev = read_dev_pairs(tmp_path / "dev.tsv")
        values: dict[str, Any] = {
            "preset": "test",
            "backbone": Source(facts.location, fingerprint(Path(facts.location)), "tiny"),
            "facts": facts,
            "corpus": Source(str(corpus.folder), corpus.fingerprint, corpus.name),
            "rows": len(corpus),
            "dev": Source(str(tmp_path / "dev.tsv"), dev.fingerprint, dev.name),
            "steps": 4,
            "epochs": None,
            "eval_steps": 2,
            "seed": 0,
            "device": "cpu",
            "precision": "fp32",
            "threads": 1,
            "cache": tmp_path / "storage" / "cache",
        }
        return Setting(**{**values, **changes})

    return make


def make_point(method: str = "scd", **values: Any) -> Any:
    """A point of a method, at its defaults but for what makes it small and what is given."""
    from embedsearch.methods.base import resolve
    from embedsearch.records import Point

    names = {"scd": "SCD", "simcse": "SimCSE", "frozen": "Frozen", "gur": "GUR"}
    target = f"embedsearch.methods.{method}:{names[method]}"
    small: dict[str, Any] = {"batch_size": 4, "pooling": "mean", "learning_rate": 1e-3}
    if method == "scd":
        small["projector_dim"] = 8
    config = resolve(target).Config(**{**small, **values})
    return Point(method, target, config.values())
