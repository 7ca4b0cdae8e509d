"""Which combinations a space allows: comparisons such as ``r_a < r_b``, read without ``eval``."""

from __future__ import annotations

import ast
import keyword
import operator
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Self

from embedsearch.config import unknown
from embedsearch.document import Text, Where
from embedsearch.records import Scalar

_COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
_WORDS = frozenset({"and", "or", "not", "True", "False", "None"})


@dataclass(frozen=True)
class Condition:
    """Comparisons of hyperparameters, numbers and quoted words, joined by and, or, not."""

    text: str
    where: Where
    _tree: ast.expr

    @classmethod
    def parse(cls, written: Any, where: Where, names: Collection[str]) -> Self:
        """Read a condition; ``UserError`` for anything else, and for a name not in ``names``."""
        if not isinstance(written, Text):
            raise where.error("a condition is written as in r_a < r_b")
        text, where = str(written), written.where
        try:
            tree = ast.parse(_without_keywords(text).strip(), mode="eval").body
        except (SyntaxError, ValueError) as error:
            raise where.error(f"'{text}' is no condition, write it as in r_a < r_b") from error
        for name in _names(tree, text, where):
            if name not in names:
                raise where.error(unknown("hyperparameter", name, names))
        return cls(text, where, tree)

    def holds(self, values: Mapping[str, Scalar]) -> bool:
        """Whether ``values`` (all of a point's) are allowed."""
        try:
            return bool(_value(self._tree, values))
        except TypeError as error:
            raise self.where.error(f"'{self.text}' compares what has no order") from error


def _without_keywords(text: str) -> str:
    """``lambda`` as ``lambda_``, which Python can parse as a name."""

    def name(match: re.Match[str]) -> str:
        word = match[0]
        return f"{word}_" if keyword.iskeyword(word) and word not in _WORDS else word

    return re.sub(r"[A-Za-z_]\w*", name, text)


def _names(node: ast.expr, text: str, where: Where) -> Iterator[str]:
    """The names in a tree that holds nothing but what ``_value`` knows."""
    match node:
        case ast.Name(id=name):
            yield name.rstrip("_")
        case ast.Constant(value=bool() | int() | float() | str() | None):
            return
        case ast.BoolOp(values=parts):
            for part in parts:
                yield from _names(part, text, where)
        case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=part):
            yield from _names(part, text, where)
        case ast.Compare(left=left, ops=ops, comparators=rest) if all(
            type(op) in _COMPARISONS for op in ops
        ):
            for part in (left, *rest):
                yield from _names(part, text, where)
        case _:
            raise where.error(
                f"'{text}' holds more than comparisons joined by and, or, not, as in r_a < r_b"
            )


def _value(node: ast.expr, values: Mapping[str, Scalar]) -> Any:
    match node:
        case ast.Name(id=name):
            return values[name.rstrip("_")]
        case ast.Constant(value=value):
            return value
        case ast.BoolOp(op=ast.And(), values=parts):
            return all(_value(part, values) for part in parts)
        case ast.BoolOp(values=parts):
            return any(_value(part, values) for part in parts)
        case ast.UnaryOp(op=ast.Not(), operand=part):
            return not _value(part, values)
        case ast.UnaryOp(operand=part):
            return -_value(part, values)
        case ast.Compare(left=left, ops=ops, comparators=rest):
            sides = [_value(part, values) for part in (left, *rest)]
            compared = zip(ops, pairwise(sides), strict=True)
            return all(_COMPARISONS[type(op)](a, b) for op, (a, b) in compared)
    raise AssertionError(f"{node} was let through")
