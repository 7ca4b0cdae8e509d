"""Whether early scores rank trials as late ones do."""

import pytest

from embedsearch.report.rungs import agreements

CURVES = {
    "a": {0: 99.0, 10: 1.0, 20: 5.0, 40: 5.0},
    "b": {0: 0.0, 10: 2.0, 20: 1.0, 40: 6.0},
    "c": {0: 0.0, 10: 3.0, 20: 7.0, 40: 1.0},
    "d": {0: 0.0, 10: 0.5},
}


def test_by_hand() -> None:
    """Best so far after step 0, at 10: 1 2 3; at 20: 5 2 7, ranks 2 1 3; at 40: 5 6 7."""
    first, second = agreements(CURVES, (10, 20))
    assert (first.step, first.later, first.trials) == (10, 20, 3)
    assert first.correlation == pytest.approx(0.5)
    assert (second.step, second.later, second.trials) == (20, 0, 3)
    assert second.correlation == pytest.approx(0.5)
    assert str(second) == "  step 20 to the end: rank correlation 0.50 over 3 trials"


def test_the_same_order_is_one_whatever_the_scores() -> None:
    rising = {f"{i}": {0: 0.0, 10: i + 0.0, 40: i**3 + 5.0} for i in range(5)}
    assert agreements(rising, (10,))[0].correlation == pytest.approx(1)


def test_too_few_or_equal_scores_tell_nothing() -> None:
    assert agreements({"a": CURVES["a"], "d": CURVES["d"]}, (10,))[0].correlation is None
    assert (
        agreements({f"{i}": {0: 0.0, 10: 1.0, 40: i} for i in range(4)}, (10,))[0].correlation
        is None
    )
    assert agreements({}, (10,)) == []
