"""Learning rates by hand."""

import pytest

from embedsearch.training.schedule import rate_factor


@pytest.mark.parametrize(
    ("schedule", "warmup", "factors"),
    [
        ("constant", 0.0, [1, 1, 1, 1]),
        ("linear", 0.0, [1, 0.75, 0.5, 0.25]),
        ("cosine", 0.0, [1, 0.853553, 0.5, 0.146447]),
        ("linear", 0.5, [1 / 3, 2 / 3, 1, 0.5]),
    ],
)
def test_by_hand(schedule: str, warmup: float, factors: list[float]) -> None:
    seen = [rate_factor(step, 4, schedule, warmup) for step in (1, 2, 3, 4)]
    assert seen == pytest.approx(factors, abs=1e-6)


def test_no_step_is_without_a_rate() -> None:
    for schedule in ("constant", "linear", "cosine"):
        assert all(rate_factor(step, 7, schedule, 0.3) > 0 for step in range(1, 8))
