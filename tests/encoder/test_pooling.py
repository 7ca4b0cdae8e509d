"""Pooling by hand."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from embedsearch.encoder.backbone import SUPPORTED
from embedsearch.encoder.model import Encoder
from embedsearch.encoder.pooling import LAYERS, pool

HIDDEN = [torch.full((1, 3, 2), float(i)) + torch.tensor([[[0.0], [1.0], [7.0]]]) for i in range(4)]
MASK = torch.tensor([[1, 1, 0]])


@pytest.mark.parametrize(
    ("pooling", "value"),
    [("cls", 3.0), ("eos", 4.0), ("mean", 3.5), ("first_last", 2.5), ("top2", 3.0)],
)
def test_worked_values(pooling: str, value: float) -> None:
    """Hidden state i holds i, i+1 and (behind the padding) i+7."""
    assert pool(pooling, HIDDEN, MASK).tolist() == [[value, value]]


@pytest.mark.parametrize("pooling", LAYERS)
@pytest.mark.parametrize("architecture", SUPPORTED)
def test_padding_changes_nothing(
    architecture: str, pooling: str, make_backbone: Callable[..., Path]
) -> None:
    """Also where a window of attention sees nothing but padding (ModernBERT)."""
    encoder = Encoder.load(str(make_backbone(architecture)), pooling)
    ids = torch.randint(10, 500, (1, 5), generator=torch.Generator().manual_seed(4))
    padded = torch.nn.functional.pad(ids, (0, 30))
    for attention in ("eager", "sdpa"):
        encoder.transformer.set_attn_implementation(attention)  # type: ignore[operator]
        alone = encoder._encode(ids, torch.ones_like(ids))
        beside = encoder._encode(padded, (padded > 0).long())
        torch.testing.assert_close(alone, beside, rtol=0, atol=1e-5)


def test_eos_is_the_state_of_the_end_token() -> None:
    encoder = Encoder.load("nano-t5", "eos").eval()
    ids = torch.tensor([encoder.tokenizer("A dog barks.")["input_ids"]])
    assert encoder.tokenizer.convert_ids_to_tokens(ids[0, -1].item()) == "</s>"
    state = encoder.transformer(input_ids=ids).last_hidden_state[:, -1]
    torch.testing.assert_close(encoder.embed(["A dog barks."]), state.detach(), rtol=0, atol=1e-6)


@pytest.mark.parametrize("architecture", SUPPORTED)
def test_rows_encoded_by_length_are_the_same_in_their_order(
    architecture: str,
    make_backbone: Callable[..., Path],
) -> None:
    """Parts of like length give what one padded batch gives, row by row, gradient included."""
    encoder = Encoder.load(str(make_backbone(architecture)), "mean")
    lengths = torch.randint(3, 20, (70,), generator=torch.Generator().manual_seed(4))
    ids = torch.randint(10, 500, (70, 20), generator=torch.Generator().manual_seed(5))
    mask = (torch.arange(20) < lengths[:, None]).long()
    by_length = encoder.encode({"input_ids": ids, "attention_mask": mask}, dropout=0.0)
    at_once = encoder._encode(ids, mask)
    torch.testing.assert_close(by_length, at_once, rtol=0, atol=1e-5)
    gradients = []
    for encoded in (by_length, at_once):
        encoder.zero_grad()
        encoded.pow(2).sum().backward()
        gradients.append([p.grad.clone() for p in encoder.parameters() if p.grad is not None])
    for first, second in zip(*gradients, strict=True):
        torch.testing.assert_close(first, second, rtol=1e-3, atol=1e-4)
