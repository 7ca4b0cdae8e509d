"""TSDAE: one set of weights, a decoder that sees the embedding alone, a loss over all tokens."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from embedsearch.encoder.backbone import describe
from embedsearch.encoder.decoder import CAN_DECODE
from embedsearch.encoder.model import Encoder
from embedsearch.errors import UserError
from embedsearch.methods.tsdae import TSDAE, TSDAEConfig

Make = Callable[..., Path]


@pytest.fixture(params=CAN_DECODE)
def encoder(request: pytest.FixtureRequest, make_backbone: Make) -> Encoder:
    return Encoder.load(str(make_backbone(request.param)), "cls")


def batch() -> dict[str, torch.Tensor]:
    ids = torch.randint(10, 400, (6, 9), generator=torch.Generator().manual_seed(2))
    mask = torch.ones_like(ids)
    mask[0, 5:] = 0
    return {"input_ids": ids, "attention_mask": mask}


def test_weights_are_one_but_for_the_cross_attention(encoder: Encoder) -> None:
    method = TSDAE(TSDAEConfig(), encoder)
    shared = {id(p) for p in encoder.parameters()}
    own = [name for name, p in method.named_parameters() if id(p) not in shared]
    assert own and all("crossattention" in n or "cls." in n or "lm_head" in n for n in own)
    assert shared <= {id(p) for p in method.parameters()}
    [group] = method.parameter_groups(encoder, 1e-3)
    assert len({id(p) for p in group.parameters}) == len(group.parameters)


def test_the_decoder_sees_the_embedding_and_what_it_wrote(encoder: Encoder) -> None:
    """A later token moves no earlier loss; the embedding moves all."""
    method, tokens = TSDAE(TSDAEConfig(), encoder).eval(), batch()

    def losses(embedding: torch.Tensor, width: int) -> torch.Tensor:
        cut = {name: value[:, :width] for name, value in tokens.items()}
        found: torch.Tensor = method.decoder(embedding, cut)
        return found[:, 0]

    embedding = torch.randn(6, encoder.dim, generator=torch.Generator().manual_seed(1))
    before = losses(embedding, 5)
    tokens["input_ids"][:, 5:] = 77
    torch.testing.assert_close(losses(embedding, 5), before)
    assert (losses(embedding + 1, 5) != before).all()


def test_loss_is_a_mean_over_tokens_without_padding(encoder: Encoder) -> None:
    method = TSDAE(TSDAEConfig(), encoder).eval()
    embedding = torch.randn(6, encoder.dim)
    losses = method.decoder(embedding, batch())
    assert losses[:, 1].tolist() == [4, 8, 8, 8, 8, 8]
    short = {name: value[:1, :5] for name, value in batch().items()}
    torch.testing.assert_close(method.decoder(embedding[:1], short), losses[:1])
    term = method.terms((embedding, losses), batch())["reconstruction"]
    torch.testing.assert_close(term, losses[:, 0].sum() / 44)


def test_it_learns_to_write(encoder: Encoder) -> None:
    method = TSDAE(TSDAEConfig(deletion=0.3), encoder).train()
    torch.manual_seed(0)
    [group] = method.parameter_groups(encoder, 3e-3)
    optimiser = torch.optim.AdamW(group.parameters, lr=3e-3)
    seen = []
    for _ in range(30):
        loss = method.terms(method.views(encoder.train(), batch()), batch())["reconstruction"]
        loss.backward()
        optimiser.step()
        optimiser.zero_grad()
        seen.append(loss.item())
    assert seen[-1] < 0.8 * seen[0]


def test_what_cannot_decode_is_refused(make_backbone: Make) -> None:
    with pytest.raises(UserError, match="is a distilbert, and TSDAE wants a bert or roberta"):
        TSDAE.check(TSDAEConfig(), describe(str(make_backbone("distilbert"))))
