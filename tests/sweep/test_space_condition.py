"""Conditions are read without being run."""

from __future__ import annotations

from typing import Any

import pytest

from embedsearch.document import Text, Where
from embedsearch.errors import UserError
from embedsearch.sweep.condition import Condition

NAMES = ["r_a", "r_b", "lambda", "alpha", "pooling", "dropout", "batch_size"]
VALUES: dict[str, Any] = {
    "r_a": 0.1,
    "r_b": 0.2,
    "lambda": 0.01,
    "alpha": -1.0,
    "pooling": "cls",
    "dropout": None,
    "batch_size": 64,
}


def condition(text: str) -> Condition:
    return Condition.parse(Text(text, Where("f", 7, "conditions[0]")), Where("f"), NAMES)


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("r_a < r_b", True),
        ("r_b < r_a", False),
        ("r_a <= 0.1", True),
        ("r_a >= 0.2", False),
        ("r_b > 0.1", True),
        ("0 < r_a < r_b < 1", True),
        ("0 < r_b < r_a", False),
        ("lambda < 0.1", True),
        ("lambda>0.1 or r_a<r_b", True),
        ("lambda > 0.1 or r_a > r_b", False),
        ("r_a < r_b and lambda > 0.1", False),
        ("not r_a > r_b and (lambda > 1 or alpha == -1)", True),
        ("pooling == 'cls'", True),
        ("pooling != 'cls' or batch_size <= 64", True),
        ("dropout == None", True),
        ("  r_a < r_b  ", True),
    ],
)
def test_comparisons_and_their_joins(text: str, holds: bool) -> None:
    assert condition(text).holds(VALUES) is holds


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('x') < 1",
        "r_a.real < r_b",
        "r_a + r_b < 1",
        "[r_a] < [r_b]",
        "r_a in r_b",
        "r_a is r_b",
        "(lambda x: x) < 1",
        "r_a if r_b else 1",
        "r_a <",
        "r_a < r_b; r_a",
        "r_a = r_b",
        "(r_a := 1) < 2",
        "b'x' == pooling",
        "",
        "r_a < 1j",
        "\x00",
    ],
)
def test_anything_else_is_refused_before_it_is_used(text: str) -> None:
    with pytest.raises(UserError, match=r"^f, line 7, conditions\[0\]: ") as caught:
        condition(text)
    assert "r_a < r_b" in str(caught.value)


def test_a_name_that_is_none_gets_the_nearest() -> None:
    with pytest.raises(UserError, match=r"no hyperparameter 'r_c', perhaps 'r_"):
        condition("r_a < r_c")
    with pytest.raises(UserError, match="no hyperparameter 'lamda', perhaps 'lambda'"):
        condition("lamda < 1")


def test_what_has_no_order_is_an_error_of_the_space() -> None:
    for text in ("dropout < 0.5", "pooling < 1", "-pooling == 1"):
        with pytest.raises(UserError, match=r"line 7, .* compares what has no order"):
            condition(text).holds(VALUES)


def test_a_condition_is_a_text() -> None:
    with pytest.raises(UserError, match=r"^f, x: a condition is written as in r_a < r_b"):
        Condition.parse(None, Where("f", key="x"), NAMES)
