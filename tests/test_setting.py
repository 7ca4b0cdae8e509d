"""What a point becomes in a setting: how its batches are divided, and what that makes of its id."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from embedsearch.errors import UserError
from embedsearch.records import TrialSpec
from tests.conftest import make_point
from tests.tracking.conftest import make_spec

Make = Callable[..., Any]


def test_the_ids_of_trials_that_divide_nothing_stay() -> None:
    """Stores hold trials under them from before a batch could be divided."""
    known = replace(make_spec(), numerics=2)
    assert known.id == "1ffcf3f5d100c3a2"
    old = {key: x for key, x in known.to_json().items() if key not in ("chunk_size", "ranks")}
    assert TrialSpec.from_json(old) == known


def test_what_a_batch_is_divided_by_is_another_trial(make_setting: Make) -> None:
    settings = [{}, {"chunk_size": 2}, {"chunk_size": 3}, {"ranks": 2}]
    specs = [make_setting(**setting).spec(make_point()) for setting in settings]
    assert len({spec.id for spec in specs}) == len(specs)
    assert len({spec.point.id for spec in specs}) == 1


@pytest.mark.parametrize(("chunk_size", "ranks"), [(4, 1), (9, 1), (2, 2)])
def test_a_chunk_that_takes_all_rows_is_none(
    chunk_size: int, ranks: int, make_setting: Make
) -> None:
    undivided = make_setting(ranks=ranks).spec(make_point(batch_size=4))
    setting = make_setting(chunk_size=chunk_size, ranks=ranks)
    assert setting.spec(make_point(batch_size=4)).id == undivided.id


def test_what_trains_nothing_has_one_process(make_setting: Make) -> None:
    spec = make_setting(chunk_size=2, ranks=4).spec(make_point("frozen"))
    assert spec.id == make_setting().spec(make_point("frozen")).id


@pytest.mark.parametrize("division", [{"chunk_size": 2}, {"ranks": 2}])
def test_a_method_that_wants_a_batch_whole_says_why(
    division: dict[str, int], make_setting: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    from embedsearch.methods.scd import SCD

    monkeypatch.setattr(SCD, "indivisible", "its encoder normalises over the batch")
    with pytest.raises(UserError, match=r"SCD wants each batch whole \(its encoder normalises"):
        make_setting(**division).spec(make_point())
    assert make_setting(chunk_size=4).spec(make_point(batch_size=4)).chunk_size is None
