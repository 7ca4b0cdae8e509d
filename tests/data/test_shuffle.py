"""The order and the duplicates do not depend on what fits in memory."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from embedsearch.data.shuffle import KEY_DIGITS, Shuffle


@pytest.mark.parametrize("buffer", [0, 500, 10**6])
def test_by_key_and_each_once(tmp_path: Path, buffer: int) -> None:
    rng = random.Random(0)
    keys = [f"{rng.getrandbits(4 * KEY_DIGITS):0{KEY_DIGITS}x}" for _ in range(40)]
    added = [(rng.choice(keys), f"línea {n}\r\x85\u2028") for n in range(100)]
    shuffle = Shuffle(tmp_path / "runs", buffer)
    for key, line in added:
        shuffle.add(key, line)
    first = dict(reversed(added))
    assert list(shuffle.drain()) == [first[key] for key in sorted(first)]
    assert shuffle.duplicates == 100 - len(first)
    assert (tmp_path / "runs").exists() == (buffer < 10**6)
