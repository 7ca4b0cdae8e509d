"""Span denoising: how long spans are, where they lie, and what of a sentence goes where."""

from __future__ import annotations

from itertools import combinations, pairwise

import pytest
import torch
from torch import Tensor

from embedsearch.data.spans import hump_geometric, mask_spans

END, FIRST = 1, 1000
SENTINELS = torch.arange(FIRST + 99, FIRST - 1, -1)
"""Falling, as in T5: <extra_id_0> is the last."""


def batch(lengths: list[int]) -> dict[str, Tensor]:
    """Sentences of so many tokens, each token its own number, before </s>."""
    ids = torch.zeros(len(lengths), max(lengths) + 1, dtype=torch.long)
    for row, length in enumerate(lengths):
        ids[row, : length + 1] = torch.tensor([*range(100, 100 + length), END])
    return {"input_ids": ids, "attention_mask": (ids != 0).long()}


def rows(side: dict[str, Tensor]) -> list[list[int]]:
    lengths = side["attention_mask"].sum(1)
    places = torch.arange(side["input_ids"].shape[1])
    assert torch.equal(side["attention_mask"].bool(), places < lengths[:, None])
    assert int(lengths.max()) == len(places)
    return [ids[:n].tolist() for ids, n in zip(side["input_ids"], lengths, strict=True)]


def spans(target: list[int]) -> list[list[int]]:
    """The spans of a target, whose sentinels are checked."""
    assert target[-1] == END and END not in target[:-1]
    found: list[list[int]] = []
    for token in target[:-1]:
        if token >= FIRST:
            assert token == SENTINELS[len(found)]
            found.append([])
        else:
            found[-1].append(token)
    return found


def test_hump_geometric_is_a_hump_of_the_same_mean() -> None:
    hump = hump_geometric()
    lengths = torch.arange(1, 11)
    assert hump.sum().item() == pytest.approx(1)
    assert (hump * lengths).sum().item() == pytest.approx(3.795, abs=5e-4)
    assert int(hump.argmax()) + 1 == 3
    torch.testing.assert_close(hump[3:] / hump[2:-1], torch.full((7,), 0.66).double())
    torch.testing.assert_close(hump[:2] / hump[1:3], torch.full((2,), 0.66).double())


def test_a_geometric_distribution_of_its_mean_has_more_spans_of_one_token() -> None:
    lengths = torch.arange(1, 11, dtype=torch.float64)
    mean = (hump_geometric() * lengths).sum()
    low, high = 0.0, 1.0
    for _ in range(60):
        ratio = (low + high) / 2
        geometric = hump_geometric(1, ratio)
        low, high = (ratio, high) if (geometric * lengths).sum() < mean else (low, ratio)
    assert (geometric * lengths).sum().item() == pytest.approx(mean.item())
    assert geometric[0] > 2 * hump_geometric()[0]


@pytest.mark.parametrize("rate", [0.15, 0.5])
def test_inputs_and_targets_make_the_sentence(rate: float) -> None:
    torch.manual_seed(0)
    lengths = [1 + row % 40 for row in range(400)]
    noisy = mask_spans(batch(lengths), hump_geometric(), rate, SENTINELS)
    for length, seen, target in zip(lengths, rows(noisy.inputs), rows(noisy.targets), strict=True):
        hidden = spans(target)
        assert all(hidden)
        assert sum(map(len, hidden)) == max(1, round(rate * length))
        rebuilt: list[int] = []
        for token in seen:
            rebuilt += hidden.pop(0) if token >= FIRST else [token]
        assert not hidden
        assert rebuilt == [*range(100, 100 + length), END]
        sentinels = [token >= FIRST for token in seen]
        assert not any(a and b for a, b in pairwise(sentinels)), "touch"


def test_an_empty_sentence_stays_and_hides_nothing() -> None:
    noisy = mask_spans(batch([0, 5]), hump_geometric(), 0.15, SENTINELS)
    assert rows(noisy.inputs)[0] == [END]
    assert rows(noisy.targets)[0] == [END]
    alone = mask_spans(batch([0]), hump_geometric(), 0.15, SENTINELS)
    assert (rows(alone.inputs), rows(alone.targets)) == ([[END]], [[END]])


def test_spans_are_as_long_as_they_are_drawn() -> None:
    """Far from the end of the share, where the last one is cut, lengths follow the distribution."""
    torch.manual_seed(0)
    noisy = mask_spans(batch([300] * 400), hump_geometric(), 0.3, SENTINELS)
    found = [len(span) for target in rows(noisy.targets) for span in spans(target)]
    shares = torch.bincount(torch.tensor(found), minlength=11)[1:] / len(found)
    assert (shares - hump_geometric()).abs().max() < 0.02


def test_every_place_is_as_likely() -> None:
    """Two spans of one token among five: all six ways that do not touch."""
    torch.manual_seed(0)
    noisy = mask_spans(batch([5] * 6_000), torch.ones(1), 0.4, SENTINELS)
    seen: dict[tuple[int, ...], int] = {}
    for target in rows(noisy.targets):
        place = tuple(span[0] - 100 for span in spans(target))
        seen[place] = seen.get(place, 0) + 1
    allowed = [pair for pair in combinations(range(5), 2) if pair[1] - pair[0] > 1]
    assert sorted(seen) == allowed
    assert all(abs(count / 6_000 - 1 / len(allowed)) < 0.02 for count in seen.values())


def test_torchs_seed_decides() -> None:
    def drawn(seed: int) -> list[list[int]]:
        torch.manual_seed(seed)
        return rows(mask_spans(batch([30] * 8), hump_geometric(), 0.15, SENTINELS).inputs)

    assert drawn(1) == drawn(1) != drawn(2)
