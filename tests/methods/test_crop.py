"""Crops as views: what is refused, and that the two views differ without any dropout."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from embedsearch.encoder.model import Encoder
from embedsearch.methods.crop import Crop, CropConfig


def test_views_differ_by_the_crop_alone(make_backbone: Callable[..., Path]) -> None:
    encoder = Encoder.load(str(make_backbone("bert")), "mean").eval()
    ids = torch.randint(10, 400, (6, 12), generator=torch.Generator().manual_seed(2))
    batch = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    first, second = Crop(CropConfig(dropout=0.0), encoder).views(encoder, batch)
    assert first.shape == second.shape == (6, encoder.dim)
    assert not torch.equal(first, second)
    whole = Crop(CropConfig(shortest=1.0, longest=1.0), encoder).views(encoder, batch)
    assert torch.equal(whole[0], whole[1])


def test_lengths_out_of_order_are_refused() -> None:
    with pytest.raises(ValueError, match=r"shortest 0\.8 is above longest 0\.5"):
        CropConfig(shortest=0.8, longest=0.5)
