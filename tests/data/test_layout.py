"""Where evaluation data is found."""

from pathlib import Path

import pytest

from embedsearch.data.layout import find


@pytest.mark.parametrize(
    "place",
    ["STS/STS12", "downstream/STS/STS12", "SentEval/data/downstream/STS/STS12", "sts/STS/STS12"],
)
def test_found_in_every_usual_place(tmp_path: Path, place: str) -> None:
    (tmp_path / place).mkdir(parents=True)
    assert find(tmp_path, "sts", "STS/STS12") == tmp_path / place


def test_none_where_there_is_none(tmp_path: Path) -> None:
    assert find(tmp_path, "sts", "STS/STS12") is None
