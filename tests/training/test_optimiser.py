"""Who decays, and at which rate."""

import torch
from torch import nn

from embedsearch.methods.base import ParameterGroup
from embedsearch.training.optimiser import make_optimiser, set_rates


def test_biases_and_norms_never_decay() -> None:
    model = nn.Sequential(nn.Linear(3, 3), nn.LayerNorm(3))
    optimiser = make_optimiser([ParameterGroup(list(model.parameters()), 0.1)], 0.5)
    decays = {
        p.ndim: group["weight_decay"] for group in optimiser.param_groups for p in group["params"]
    }
    assert decays == {2: 0.5, 1: 0.0}


def test_groups_keep_their_own_rates() -> None:
    first, second = (nn.Parameter(torch.zeros(2, 2)) for _ in range(2))
    groups = [ParameterGroup([first], 5e-6), ParameterGroup([second], 5e-4)]
    optimiser = make_optimiser(groups, 0.0)
    set_rates(optimiser, 3, 4, "linear", 0.0)
    assert [group["lr"] for group in optimiser.param_groups] == [2.5e-6, 2.5e-4]


def test_without_decay_it_is_adam() -> None:
    """The papers print Adam."""
    torch.manual_seed(0)
    ours, theirs = (nn.Parameter(torch.ones(3, 3)) for _ in range(2))
    adamw = make_optimiser([ParameterGroup([ours], 0.1)], 0.0)
    adam = torch.optim.Adam([theirs], lr=0.1)
    for _ in range(3):
        for parameter, optimiser in ((ours, adamw), (theirs, adam)):
            parameter.grad = parameter.detach() ** 2
            optimiser.step()
    torch.testing.assert_close(ours, theirs)
