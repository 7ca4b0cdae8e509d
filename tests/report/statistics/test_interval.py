"""Student's intervals, against tables."""

from __future__ import annotations

import pytest

from embedsearch.report.statistics.interval import difference_interval, mean_interval


def test_worked_by_hand() -> None:
    """1, 2, 3: mean 2, sd 1; t at 2 degrees of freedom is 4.3027, and 4.3027 / sqrt(3) 2.4841."""
    low, high = mean_interval([1, 2, 3]) or (0, 0)
    assert (low, high) == pytest.approx((2 - 2.4841, 2 + 2.4841), abs=1e-4)


def test_a_difference_worked_by_hand() -> None:
    """Equal spreads and sizes: variance 2/3, 4 degrees of freedom, t 2.7764."""
    low, high = difference_interval([1, 2, 3], [2, 3, 4]) or (0, 0)
    assert (low, high) == pytest.approx((-1 - 2.2669, -1 + 2.2669), abs=1e-4)


def test_a_known_spread_is_widened_by_what_of_it_the_seeds_guess() -> None:
    """All of it: as without. None of it: the normal's 1.96 on both sides."""
    first, second = [1.0, 2, 3], [2.0, 3, 4]
    spread = (2 / 3) ** 0.5
    assert difference_interval(first, second, spread) == pytest.approx(
        difference_interval(first, second)
    )
    assert difference_interval([1.0], [2.0], 0.5) == pytest.approx((-1.98, -0.02), abs=1e-3)
    low, high = difference_interval(first, second, 10 * spread) or (0, 0)
    assert high - low == pytest.approx(2 * 1.96 * 10 * spread, rel=1e-3)


def test_the_other_way_round_it_is_the_same() -> None:
    low, high = difference_interval([1, 2, 4], [2, 9, 4, 4]) or (0, 0)
    assert difference_interval([2, 9, 4, 4], [1, 2, 4]) == pytest.approx((-high, -low))


def test_one_seed_has_none_and_equal_seeds_no_width() -> None:
    assert mean_interval([1]) is None and difference_interval([1], [1, 2]) is None
    assert mean_interval([3, 3]) == (3, 3)
    assert difference_interval([3, 3], [1, 1]) == (2, 2)
