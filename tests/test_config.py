"""What was written means what the schema asks for; a mistake is one sentence with its place."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field, model_validator

from embedsearch.config import fields, parse_overrides, typed, unknown, validate
from embedsearch.document import Series, Table, Text, Where, read_yaml
from embedsearch.errors import UserError


class Inner(BaseModel):
    model_config = ConfigDict(extra="forbid")

    size: int = 1
    rest: dict[str, Any] = {}


class Outer(BaseModel):
    model_config = ConfigDict(
        extra="forbid", allow_inf_nan=False, alias_generator=lambda name: name.rstrip("_")
    )

    whole: int = 0
    real: float = Field(0.5, ge=0)
    flag: bool = True
    word: str = ""
    maybe: float | None = 0.1
    place: str | None = "here"
    kind: Literal["mlp", "none"] = "mlp"
    level: Literal[2, 3] = 2
    lambda_: float = 0.1
    many: list[int] = []
    inner: Inner = Inner()
    named: dict[str, Inner] = {}

    @model_validator(mode="after")
    def _agree(self) -> Outer:
        if self.whole == 13:
            raise ValueError("13 brings bad luck")
        return self


@pytest.fixture
def read(tmp_path: Path) -> Any:
    def read(text: str) -> Table:
        path = tmp_path / "file.yaml"
        path.write_bytes(text.encode())
        return read_yaml(path)

    return read


@pytest.mark.parametrize(
    ("key", "text", "value"),
    [
        ("real", "3e-5", 3e-5),
        ("real", "1e5", 100000.0),
        ("real", "012", 12.0),
        ("real", ".5", 0.5),
        ("whole", "1e5", 100000),
        ("whole", "1.0", 1),
        ("whole", "012", 12),
        ("whole", "-3", -3),
        ("whole", "'7'", 7),
        ("flag", "no", False),
        ("flag", "on", True),
        ("flag", "False", False),
        ("word", "no", "no"),
        ("word", "012", "012"),
        ("word", "1:30", "1:30"),
        ("word", "1e5", "1e5"),
        ("word", "2024-01-01", "2024-01-01"),
        ("word", "none", "none"),
        ("word", "'~'", "~"),
        ("maybe", "null", None),
        ("maybe", "~", None),
        ("maybe", "none", None),
        ("maybe", "", None),
        ("maybe", "0.3", 0.3),
        ("kind", "none", "none"),
        ("level", "3", 3),
        ("lambda", "0.013", 0.013),
        ("many", "[1, 1e2, 012]", [1, 100, 12]),
    ],
)
def test_the_schema_types_a_scalar(read: Any, key: str, text: str, value: Any) -> None:
    found = validate(Outer, read(f"{key}: {text}\n")).model_dump(by_alias=True)[key]
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize("text", ["none", "None", "null", "~", ""])
def test_none_is_none_for_every_hyperparameter_that_may_be(text: str) -> None:
    """For a text too; a choice that has the word keeps it."""
    assert typed(Outer, "maybe", text) is None
    assert typed(Outer, "place", text) is None
    assert typed(Outer, "place", f"./{text}") == f"./{text}"
    assert typed(Outer, "word", text) == text
    assert typed(Outer, "kind", "none") == "none"


@pytest.mark.parametrize(
    ("key", "text", "reason"),
    [
        ("whole", "1:30", "'1:30' is no whole number"),
        ("real", "1:30", "'1:30' is no number"),
        ("whole", "1.5", "'1.5' is no whole number"),
        ("whole", "true", "'true' is no whole number"),
        ("whole", "0x10", "'0x10' is no whole number"),
        ("whole", "1e999999999", "'1e999999999' is no whole number"),
        ("whole", "", "an empty value is no whole number"),
        ("real", "true", "'true' is no number"),
        ("real", "yes", "'yes' is no number"),
        ("real", ".nan", "'.nan' is no number"),
        ("real", "nan", "'nan' should be a finite number"),
        ("real", "-1", "'-1' should be greater than or equal to 0"),
        ("flag", "1e5", "'1e5' is neither true nor false"),
        ("kind", "mpl", "'mpl' should be 'mlp' or 'none'"),
        ("whole", "13", "13 brings bad luck"),
        ("inner", "5", "'5' is no mapping of keys to values"),
        ("many", "5", "'5' is no list"),
    ],
)
def test_a_wrong_value_is_named_with_its_place(
    read: Any, tmp_path: Path, key: str, text: str, reason: str
) -> None:
    table = read(f"# a comment\n{key}: {text}\n")
    with pytest.raises(UserError) as caught:
        validate(Outer, table)
    place = f"{tmp_path}/file.yaml" + (
        "" if key == "whole" and text == "13" else f", line 2, {key}"
    )
    assert str(caught.value).startswith(place)
    assert str(caught.value).endswith(f": {reason}")


def test_places_reach_into_mappings_and_lists(read: Any) -> None:
    with pytest.raises(UserError, match=r"line 4, named\.a\.size: 'x' is no whole number$"):
        validate(Outer, read("many:\n  - 1\nnamed: {a: {\n  size: x}}\n"))
    with pytest.raises(UserError, match=r"line 3, many\[1\]: '1:30' is no whole number$"):
        validate(Outer, read("many:\n  - 1\n  - 1:30\n"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("wohle: 1", r"line 1, wohle: no key 'wohle', perhaps 'whole' \(there is whole, real, "),
        ("lambda_: 1", r"lambda_: no key 'lambda_', perhaps 'lambda' \("),
        ("named: {a: {sise: 1}}", r"named\.a\.sise: no key 'sise', perhaps 'size' \(there is size"),
        ("inner: {sise: 1}", r"inner\.sise: no key 'sise', perhaps 'size' \(there is size, rest\)"),
        ("named: {inner: {sise: 1}}", r"perhaps 'size' \(there is size, rest\)"),
        ("zzzzzz: 1", r"no key 'zzzzzz' \(there is whole"),
    ],
)
def test_an_unknown_key_gets_the_nearest_offered(read: Any, text: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        validate(Outer, read(text))


def test_a_missing_key_is_named_where_it_should_be(read: Any) -> None:
    class Needs(BaseModel):
        inner: dict[str, Required]

    class Required(BaseModel):
        size: int

    Needs.model_rebuild(_types_namespace={"Required": Required})
    with pytest.raises(UserError, match=r"line 2, inner\.a: the key 'size' is missing$"):
        validate(Needs, read("inner:\n  a: {}\n"))


def test_untyped_parts_keep_their_text_and_place(read: Any) -> None:
    kept = validate(Outer, read("inner:\n  size: 1e1\n  rest: {a: no, b: [1e5]}\n")).inner
    assert kept.size == 10
    assert (kept.rest["a"], kept.rest["b"]) == ("no", ["1e5"])
    assert isinstance(kept.rest["b"], Series)
    assert kept.rest["a"].where.line == 3


def test_plain_mappings_validate_too() -> None:
    assert validate(Outer, {"real": "3e-5"}).real == 3e-5
    with pytest.raises(UserError, match=r"^command line, real: 'x' is no number$"):
        validate(Outer, {"real": "x"})
    with pytest.raises(UserError, match=r"^here, real: 'x' is no number$"):
        validate(Outer, {"real": "x"}, Where("here"))


def test_one_field_is_typed_alone() -> None:
    assert typed(Outer, "lambda", "1e-2") == 0.01
    assert typed(Outer, "maybe", None) is None
    assert typed(Outer, "whole", 5) == 5
    assert type(typed(Outer, "real", 1)) is float
    for wrong in (True, "true", [1], {}):
        with pytest.raises(UserError, match=r"command line, real: "):
            typed(Outer, "real", wrong)
    with pytest.raises(UserError, match="no hyperparameter 'rael', perhaps 'real'"):
        typed(Outer, "rael", "1")
    with pytest.raises(UserError, match=r"^f, line 3, x: 'y' is no number$"):
        typed(Outer, "real", Text("y", Where("f", 3, "x")))


@pytest.mark.parametrize("value", [0.1, 3e-5, 1 / 3, 1e300, 5e-324])
def test_a_number_survives_its_text(value: float) -> None:
    assert typed(Outer, "real", value) == value


def test_fields_go_by_their_outside_name() -> None:
    assert "lambda" in fields(Outer)
    assert "lambda_" not in fields(Outer)


def test_overrides_keep_their_text() -> None:
    items = ["alpha=0.1", " learning_rate = 3e-5 ", "word=a=b", "dropout="]
    assert parse_overrides(items) == {
        "alpha": "0.1",
        "learning_rate": "3e-5",
        "word": "a=b",
        "dropout": "",
    }


@pytest.mark.parametrize(
    ("items", "message"),
    [
        (["alpha"], r"^command line: 'alpha' sets nothing, write KEY=VALUE"),
        (["=1"], "sets nothing"),
        ([""], "sets nothing"),
        (["a=1", "a=1"], r"^command line, a: is given twice"),
    ],
)
def test_overrides_without_sense_are_refused(items: list[str], message: str) -> None:
    with pytest.raises(UserError, match=message):
        parse_overrides(items)


def test_unknown_names_list_what_there_is() -> None:
    assert unknown("grid", "corase", ["coarse", "fine"]) == (
        "no grid 'corase', perhaps 'coarse' (there is coarse, fine)"
    )
    assert unknown("grid", "x", []) == "no grid 'x' (there is none at all)"
