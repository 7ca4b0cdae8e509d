"""Makes a BERT or a T5 of any size, with random weights and the demo's vocabulary, to measure on.

python -m experiments.benchmarks.backbone FOLDER [--layers 12] [--dim 768] [--architecture bert]
"""

from __future__ import annotations

import argparse
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
from transformers import (
    AutoTokenizer,
    BertConfig,
    BertModel,
    PreTrainedModel,
    T5Config,
    T5ForConditionalGeneration,
)

from embedsearch.encoder.backbone import locate

VOCABULARIES = {"bert": "nano", "t5": "nano-t5"}
"""The embedded backbone whose tokenizer one of each architecture takes."""


@contextmanager
def made(name: str | None) -> Iterator[str | None]:
    """The folder of a backbone such as ``bert-6x768`` (layers by width), made for the time being;
    any other name, or none, as it is."""
    size = re.fullmatch(rf"({'|'.join(VOCABULARIES)})-(\d+)x(\d+)", name or "")
    if name is None or size is None:
        yield name
        return
    with tempfile.TemporaryDirectory() as base:
        folder = Path(base) / name
        make_backbone(folder, int(size[2]), int(size[3]), size[1])
        yield str(folder)


def make_backbone(folder: Path, layers: int, dim: int, architecture: str = "bert") -> None:
    """Save a BERT, or a T5 with as many layers in its decoder, of ``layers`` × ``dim`` with 64-wide
    heads, as BERT-base and T5-base have them."""
    tokenizer = AutoTokenizer.from_pretrained(locate(VOCABULARIES[architecture]))
    torch.manual_seed(0)
    make = {"bert": _bert, "t5": _t5}[architecture]
    make(len(tokenizer), layers, dim).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def _bert(vocabulary: int, layers: int, dim: int) -> PreTrainedModel:
    config = BertConfig(
        vocab_size=vocabulary,
        hidden_size=dim,
        num_hidden_layers=layers,
        num_attention_heads=max(1, dim // 64),
        intermediate_size=4 * dim,
    )
    return BertModel(config)


def _t5(vocabulary: int, layers: int, dim: int) -> PreTrainedModel:
    config = T5Config(
        vocab_size=vocabulary,
        d_model=dim,
        d_kv=64,
        d_ff=4 * dim,
        num_layers=layers,
        num_heads=max(1, dim // 64),
        n_positions=512,
        decoder_start_token_id=0,
    )
    return T5ForConditionalGeneration(config)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--dim", type=int, default=768)
    parser.add_argument("--architecture", choices=VOCABULARIES, default="bert")
    given = parser.parse_args()
    make_backbone(given.folder, given.layers, given.dim, given.architecture)


if __name__ == "__main__":
    main()
