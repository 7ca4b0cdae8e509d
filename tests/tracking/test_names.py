import pytest

from embedsearch.tracking.names import MAX_PARAM, from_name, from_text, to_name, to_text

AWKWARD = [
    "map@10", "a=b", "a//b", "/a", "a/", "", ".", "..", "a/../b", "a:b", "λ", "loss/self",
    "batch_size", "_0x40_", "a_0x_b", "_0x4@", "a_@", "@_0x40_", "_0x_0x40_", "dev/spearman",
]  # fmt: skip


@pytest.mark.parametrize("name", AWKWARD)
def test_a_name_comes_back(name: str) -> None:
    assert from_name(to_name(name)) == name


@pytest.mark.parametrize("name", AWKWARD)
def test_mlflow_takes_every_name(name: str) -> None:
    from mlflow.utils.validation import _validate_metric_name, _validate_param_name

    _validate_metric_name(to_name(name))
    _validate_param_name(to_name(name))


def test_names_stay_apart() -> None:
    assert len({to_name(name) for name in AWKWARD}) == len(AWKWARD)


@pytest.mark.parametrize("name", ["dev/spearman", "loss/self-contrast", "batch_size", "λ", "0x40"])
def test_a_plain_name_stays_as_it_is(name: str) -> None:
    assert to_name(name) == name


def test_one_float_has_one_text() -> None:
    assert to_text(float("3e-05")) == to_text(0.00003) == "3e-05"


@pytest.mark.parametrize("value", [None, True, 3, 0.1, 3e-05, "mean", "a b"])
def test_a_value_comes_back(value: str | float | bool | None) -> None:
    found = from_text(to_text(value))
    assert found == value
    assert type(found) is type(value)


def test_a_long_value_is_marked_as_cut() -> None:
    text = to_text("x" * 9000)
    assert len(text) == MAX_PARAM
    assert text.endswith("…")


def test_what_is_no_json_number_is_refused() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        to_text(float("nan"))
