"""From what a person wrote (YAML, ``KEY=VALUE``) to validated values.

A scalar keeps its text until the schema's type decides, not YAML's guess: ``3e-5`` and ``1e5`` are
numbers where a number is asked for, ``no`` is False for a truth value and a word for a name,
``1:30`` is no number, and digits are decimal (``012`` is 12).
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from functools import cache
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from embedsearch.document import COMMAND_LINE, Where
from embedsearch.errors import UserError

T = TypeVar("T")
M = TypeVar("M", bound=BaseModel)

_NONE = ("", "~", "null", "none")
"""Words for no value at all, where there need be none; in capitals too."""

_REASONS = {
    "int_parsing": "is no whole number",
    "int_from_float": "is no whole number",
    "int_type": "is no whole number",
    "float_parsing": "is no number",
    "float_type": "is no number",
    "decimal_parsing": "is no number",
    "decimal_type": "is no number",
    "bool_parsing": "is neither true nor false",
    "model_type": "is no mapping of keys to values",
    "dict_type": "is no mapping of keys to values",
    "list_type": "is no list",
}


def parse_overrides(items: Iterable[str]) -> dict[str, str]:
    """``KEY=VALUE`` words of a command line as raw text by key; the schema types them later."""
    overrides: dict[str, str] = {}
    for item in items:
        key, equals, value = (part.strip() for part in item.partition("="))
        if not (key and equals):
            raise UserError(f"command line: '{item}' sets nothing, write KEY=VALUE as in alpha=0.1")
        if key in overrides:
            raise UserError(f"command line, {key}: is given twice, keep one of them")
        overrides[key] = value
    return overrides


def unknown(kind: str, name: str, valid: Iterable[str]) -> str:
    """What to say of a name that isn't there: the nearest one, and all of them."""
    names = list(valid)
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    perhaps = f", perhaps '{near[0]}'" if near else ""
    return f"no {kind} '{name}'{perhaps} (there is {', '.join(names) or 'none at all'})"


def validate(model: type[M], mapping: Mapping[str, Any], where: Where | None = None) -> M:
    """``mapping`` as a ``model``; ``UserError`` with place and key where it does not fit."""
    where = where or _place(mapping)
    try:
        return _settled(model.model_validate, mapping)
    except ValidationError as error:
        raise _sentence(error, mapping, where, model) from error


def typed(model: type[BaseModel], key: str, value: Any, where: Where | None = None) -> Any:
    """``value`` with the type of ``model``'s field ``key``, constraints checked.

    Booleans and numbers are read like their text, so that True is no number. A word for none is
    None where there may be none, also where a text is asked for. Raises ``UserError`` for a wrong
    value and for an unknown key, with the nearest.
    """
    where = where or _place(value, Where(key=key))
    if key not in fields(model):
        raise where.error(unknown("hyperparameter", key, fields(model)))
    if isinstance(value, list | dict):
        raise where.error("takes a single value")
    text = value if value is None or isinstance(value, str) else str(value)
    if str(text).lower() in _NONE and type(None) in get_args(fields(model)[key].annotation):
        return None
    try:
        return _settled(_adapter(model, key).validate_python, text)
    except ValidationError as error:
        raise _sentence(error, text, where, model) from error


def fields(model: type[BaseModel]) -> dict[str, FieldInfo]:
    """A model's fields by the name a person writes (``lambda`` for ``lambda_``)."""
    return {field.alias or name: field for name, field in model.model_fields.items()}


def _place(value: Any, otherwise: Where = COMMAND_LINE) -> Where:
    where: Where = getattr(value, "where", otherwise)
    return where


@cache
def _adapter(model: type[BaseModel], key: str) -> TypeAdapter[Any]:
    return TypeAdapter(fields(model)[key].rebuild_annotation(), config=model.model_config)


def _settled(accept: Callable[[Any], T], tree: Any) -> T:
    """What ``accept`` makes of ``tree``: texts it refuses get a second reading."""
    try:
        return accept(tree)
    except ValidationError as error:
        for problem in error.errors():
            tree = _reread(tree, problem["loc"])
    return accept(tree)


def _reread(tree: Any, loc: Sequence[int | str]) -> Any:
    if isinstance(tree, str):
        return _second_reading(tree)
    if loc and isinstance(tree, dict) and loc[0] in tree:
        return {**tree, loc[0]: _reread(tree[loc[0]], loc[1:])}
    if loc and isinstance(tree, list) and isinstance(loc[0], int):
        return [_reread(item, loc[1:]) if i == loc[0] else item for i, item in enumerate(tree)]
    return tree


def _second_reading(text: str) -> str | int | None:
    """None for a word that says so, the integer for ``1e5``; else the text as it is."""
    if text.lower() in _NONE:
        return None
    try:
        number = Decimal(text)
    except InvalidOperation:
        return text
    is_whole = number.is_finite() and number.adjusted() < 19 and number == int(number)
    return int(number) if is_whole else text


def _sentence(error: ValidationError, tree: Any, where: Where, model: type[BaseModel]) -> UserError:
    """The first of a validation's errors, as one sentence with its place.

    A key too many comes before a key that is missing: the one is often the other, misspelt.
    """
    problem = min(error.errors(), key=lambda each: each["type"] != "extra_forbidden")
    loc = list(problem["loc"])
    while loc:
        part = loc[0]
        if isinstance(tree, dict):
            if part not in tree:
                break
            where = getattr(tree, "places", {}).get(part) or where.below(part)
        elif isinstance(tree, list) and isinstance(part, int):
            where = _place(tree[part], where.below(part))
        else:
            break
        tree = tree[part]
        loc.pop(0)
    return where.error(_reason(problem, tree, model))


def _reason(problem: ErrorDetails, value: Any, model: type[BaseModel]) -> str:
    kind, loc = problem["type"], problem["loc"]
    if kind == "extra_forbidden":
        return unknown("key", str(loc[-1]), fields(_model_at(model, loc[:-1])))
    if kind == "missing":
        return f"the key '{loc[-1]}' is missing"
    if kind == "value_error":
        return str(problem["ctx"]["error"])
    reason = _REASONS.get(kind) or problem["msg"].replace("Input should", "should", 1)
    shown = "an empty value" if value in (None, "") else f"'{value}'"
    return f"{shown} {reason}"


def _model_at(model: type[BaseModel], loc: Sequence[int | str]) -> type[BaseModel]:
    """The model that judged the value at ``loc``; inside a mapping or list, its items' one."""
    for part in loc:
        field = fields(model).get(str(part))
        model = next(iter(_models_in(field.annotation)), model) if field else model
    return model


def _models_in(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [found for part in get_args(annotation) for found in _models_in(part)]
