"""What stands behind the pooling is part of the embedding."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from embedsearch.encoder.model import Encoder
from embedsearch.encoder.projection import Projection
from embedsearch.training.checkpoint import Checkpoint, Progress

TEXTS = ["A cat sat on the mat.", "The dog is here"]
WEIGHT = torch.tensor([[1.0, 2.0, 0.0], [0.0, -1.0, 1.0]])
BIAS = torch.tensor([0.5, 0.0])


@pytest.fixture
def encoder(make_backbone: Callable[..., Path]) -> Encoder:
    loaded = Encoder.load(str(make_backbone("t5")), "eos")
    loaded.projection = Projection(loaded.dim, 5)
    return loaded


def test_worked_values() -> None:
    affine = Projection.affine(WEIGHT, BIAS)
    assert affine.width == 2
    assert affine(torch.tensor([[1.0, 2.0, 3.0]])).tolist() == [[5.5, 1.0]]
    curved = Projection(3, 2, "tanh")
    curved.load_state_dict(affine.state_dict())
    assert torch.equal(curved(torch.eye(3)), torch.tanh(affine(torch.eye(3))))


def test_embedding_is_the_projected_pooling(encoder: Encoder) -> None:
    assert encoder.dim == 5 and encoder.facts.dim == 32
    projected = encoder.embed(TEXTS)
    projection, encoder.projection = encoder.projection, None
    assert projection is not None and encoder.dim == 32
    torch.testing.assert_close(projected, projection(encoder.embed(TEXTS)).detach())


def test_training_reaches_and_keeps_it(encoder: Encoder, tmp_path: Path) -> None:
    """Its gradient flows, and a state to go on from holds its weights."""
    ids = torch.randint(10, 500, (3, 7), generator=torch.Generator().manual_seed(1))
    out = encoder.encode({"input_ids": ids, "attention_mask": torch.ones_like(ids)}, dropout=0.1)
    assert out.shape == (3, 5)
    out.sum().backward()
    optimiser = torch.optim.AdamW(encoder.parameters(), lr=0.1)
    optimiser.step()
    wanted = {name: value.clone() for name, value in encoder.state_dict().items()}
    assert {"projection.linear.weight", "projection.linear.bias"} <= wanted.keys()
    checkpoint = Checkpoint(tmp_path / "state")
    checkpoint.save(Progress(), {"encoder": encoder}, optimiser, wanted)
    with torch.no_grad():
        for parameter in encoder.parameters():
            parameter.zero_()
    restored = checkpoint.restore({"encoder": encoder}, optimiser)
    assert restored is not None
    for state in (encoder.state_dict(), restored[1]):
        assert all(torch.equal(state[name], value) for name, value in wanted.items())
