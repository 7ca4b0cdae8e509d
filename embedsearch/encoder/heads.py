"""Heads on top of an encoder, there in training only."""

from __future__ import annotations

from typing import Literal

from torch import nn

HeadKind = Literal["mlp", "none"]


def projector(dim: int, hidden: int, layers: int) -> nn.Sequential:
    """``layers`` linear layers of width ``hidden``, BatchNorm and ReLU between them.

    (batch, dim) in, (batch, hidden) out; no normalisation behind the last (SCD, section 3.1;
    Barlow Twins). A bias right before a BatchNorm would cancel, so only the last layer has one.
    """
    blocks: list[nn.Module] = []
    for index in range(layers - 1):
        width = dim if index == 0 else hidden
        blocks += [nn.Linear(width, hidden, bias=False), nn.BatchNorm1d(hidden), nn.ReLU()]
    return nn.Sequential(*blocks, nn.Linear(dim if layers == 1 else hidden, hidden))


def mlp(dim: int) -> nn.Sequential:
    """One linear layer and tanh, (batch, dim) in and out (SimCSE's head on [CLS])."""
    return nn.Sequential(nn.Linear(dim, dim), nn.Tanh())


def head(kind: HeadKind, dim: int) -> nn.Module:
    """``mlp`` or nothing, (batch, dim) in and out."""
    return mlp(dim) if kind == "mlp" else nn.Identity()


def contrast_head(dim: int, out: int) -> nn.Sequential:
    """``dim`` × ``dim``, ReLU, ``dim`` × ``out``: (batch, dim) in, (batch, out) out (VaSCL)."""
    return nn.Sequential(nn.Linear(dim, dim), nn.ReLU(), nn.Linear(dim, out))
