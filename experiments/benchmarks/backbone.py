"""Makes a BERT of any size, with random weights and the demo's vocabulary, to measure speed on.

python -m experiments.benchmarks.backbone FOLDER [--layers 12] [--dim 768]
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch
from transformers import AutoTokenizer, BertConfig, BertModel

from embedsearch.encoder.backbone import locate


def make_backbone(folder: Path, layers: int, dim: int) -> None:
    """Save a BERT of ``layers`` × ``dim`` with 64-wide heads, as BERT-base has them."""
    tokenizer = AutoTokenizer.from_pretrained(locate("nano"))
    config = BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=dim,
        num_hidden_layers=layers,
        num_attention_heads=max(1, dim // 64),
        intermediate_size=4 * dim,
    )
    torch.manual_seed(0)
    BertModel(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--dim", type=int, default=768)
    given = parser.parse_args()
    make_backbone(given.folder, given.layers, given.dim)


if __name__ == "__main__":
    main()
