"""Kept embeddings: each text encoded once, whatever is asked, killed or cut in half."""

from __future__ import annotations

import os
import resource
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from embedsearch.evaluation import embeddings
from embedsearch.evaluation.embeddings import Embeddings, bound


class Encode:
    """A text's vector is its length and its first letter; remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[list[str]] = []

    def __call__(self, texts: Sequence[str]) -> Tensor:
        self.asked.append(list(texts))
        return torch.tensor([[len(text), ord(text[:1] or "\0")] for text in texts]).float()


def test_order_and_duplicates() -> None:
    encode = Encode()
    found = Embeddings(encode)(["bb", "a", "bb"])
    assert found.tolist() == [[2, 98], [1, 97], [2, 98]]
    assert found.dtype == np.float32
    assert encode.asked == [["bb", "a"]]


def test_known_texts_cost_nothing_in_a_later_process(tmp_path: Path) -> None:
    first = Embeddings(Encode(), tmp_path / "key")
    first(["a", "bb"])
    encode = Encode()
    second = Embeddings(encode, tmp_path / "key")
    assert second(["bb", "a", "ccc"]).tolist() == [[2, 98], [1, 97], [3, 99]]
    assert encode.asked == [["ccc"]]
    assert second.encoded == 1


def test_longest_first_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embeddings, "TOGETHER", 2)
    encode, seen = Encode(), []
    Embeddings(encode).prepare(["a", "ccc", "bb"], lambda done, total: seen.append((done, total)))
    assert encode.asked == [["ccc", "bb"], ["a"]]
    assert seen == [(0, 3), (2, 3), (3, 3)]


def test_a_kill_loses_one_part_at_most(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embeddings, "TOGETHER", 1)

    def encode(texts: Sequence[str]) -> Tensor:
        if texts == ["a"]:
            raise KeyboardInterrupt
        return torch.ones(1, 2)

    with pytest.raises(KeyboardInterrupt):
        Embeddings(encode, tmp_path)(["a", "bb"])
    again = Encode()
    Embeddings(again, tmp_path)(["a", "bb"])
    assert again.asked == [["a"]]


def test_a_file_cut_in_half_is_encoded_anew(tmp_path: Path) -> None:
    Embeddings(Encode(), tmp_path)(["a", "bb"])
    [file] = tmp_path.glob("*.safetensors")
    file.write_bytes(file.read_bytes()[:60])
    assert Embeddings(Encode(), tmp_path)(["bb"]).tolist() == [[2, 98]]


def test_nothing_asked_is_nothing_encoded() -> None:
    encode = Encode()
    assert len(Embeddings(encode)([])) == 0
    assert encode.asked == []


def test_the_least_recently_used_go_first(tmp_path: Path) -> None:
    for age, name in enumerate(("new", "middle", "old")):
        Embeddings(Encode(), tmp_path / name)(["a"])
        os.utime(tmp_path / name, (1000 - age, 1000 - age))
    size = sum(file.stat().st_size for file in (tmp_path / "new").iterdir())
    bound(tmp_path, 2 * size)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["middle", "new"]
    bound(tmp_path, 0)
    assert [path.name for path in tmp_path.iterdir()] == ["new"]


def test_a_full_disk_is_an_error_of_the_system(tmp_path: Path) -> None:
    """Which the command line tells in a sentence; safetensors' own would be a traceback."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, limits[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            Embeddings(Encode(), tmp_path / "key")(["a", "bb"])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert not list((tmp_path / "key").glob("*.safetensors"))
