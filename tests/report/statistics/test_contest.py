"""Better, worse or not told apart."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from embedsearch.report.statistics.contest import BOOTSTRAP, WELCH, Contest, Contestant


def contestant(
    name: str, noise: float, gold: np.ndarray, seeds: int = 5, **fields: bool
) -> Contestant:
    """One whose similarities are the gold scores and that much noise, of its own for each seed."""
    random = np.random.default_rng(list(name.encode()))
    similar = [gold + random.normal(0, noise, len(gold)) for _ in range(seeds)]
    scores = [100 * stats.spearmanr(row, gold).statistic for row in similar]
    return Contestant(name, scores, [row.tolist() for row in similar], **fields)


GOLD = np.random.default_rng(0).random(400)


def test_the_clearly_better_is_better_and_the_same_is_not_told_apart() -> None:
    good, same, bad = (
        contestant(name, noise, GOLD)
        for name, noise in (("good", 0.3), ("same", 0.3), ("bad", 0.6))
    )
    contest = Contest([good, same, bad], GOLD)
    found = contest.difference(good, bad)
    assert found.verdict == "better" and found.by == BOOTSTRAP
    assert found.low is not None and found.high is not None
    assert found.value == good.mean - bad.mean
    assert found.low < found.value < found.high
    assert contest.difference(bad, good).verdict == "worse"
    assert contest.difference(good, same).verdict == "not told apart"
    assert Contest([good, same, bad], GOLD).difference(good, bad) == found


def test_pairs_are_shared_so_that_a_small_difference_shows() -> None:
    """Of one seed each, differing in a few pairs: far less than either varies over the pairs."""
    first = contestant("first", 0.5, GOLD, seeds=1, needs_no_seeds=True)
    [similar] = first.similarities
    worse = np.array(similar)
    worse[np.argsort(-GOLD)[:8]] -= 0.5
    score = 100 * stats.spearmanr(worse, GOLD).statistic
    second = Contestant("second", [score], [worse.tolist()], needs_no_seeds=True)
    found = Contest([first, second], GOLD).difference(first, second)
    assert found.verdict == "better" and found.value < 3


def test_without_similarities_the_seeds_tell_and_without_seeds_nothing() -> None:
    first, second = Contestant("a", [60.0, 61, 62]), Contestant("b", [50.0, 51, 52])
    contest = Contest([first, second, Contestant("c", [70.0])], GOLD)
    assert contest.difference(first, second).by == WELCH
    assert contest.difference(first, second).verdict == "better"
    found = contest.difference(Contestant("c", [70.0]), first)
    assert (found.low, found.verdict, found.by) == (None, "not told apart", "c has one seed")
    assert Contest([first], None).difference(first, second).by == WELCH


def test_similarities_of_other_pairs_are_none() -> None:
    first, second = (contestant(name, 0.3, GOLD) for name in ("first", "second"))
    cut = Contestant("cut", first.scores, [*first.similarities[1:], first.similarities[0][:-1]])
    contest = Contest([first, second, cut], GOLD)
    assert contest.difference(first, second).by == BOOTSTRAP
    assert contest.difference(cut, second).by == WELCH


def test_resamples_in_parts_are_as_many() -> None:
    many = np.random.default_rng(1).random(3000)
    first = contestant("first", 0.3, many, seeds=2)
    second = contestant("second", 0.5, many, seeds=2)
    assert Contest([first, second], many).difference(first, second).verdict == "better"


def test_equals_are_told_apart_no_more_often_than_promised(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three seeds each that vary more than the pairs do: percentiles would err three times as often
    as in one of twenty."""
    monkeypatch.setattr("embedsearch.report.statistics.contest.RESAMPLES", 200)
    random = np.random.default_rng(3)

    def one(name: str, gold: np.ndarray, common: np.ndarray) -> Contestant:
        similar = [
            gold + (1 + 0.15 * random.normal()) * common + 0.1 * random.normal(size=len(gold))
            for _ in range(3)
        ]
        scores = [100 * stats.spearmanr(row, gold).statistic for row in similar]
        return Contestant(name, scores, [row.tolist() for row in similar])

    wrong = 0
    for _ in range(150):
        gold, common = random.normal(size=100), 0.6 * random.normal(size=100)
        pair = one("a", gold, common), one("b", gold, common)
        wrong += Contest(pair, gold).difference(*pair).verdict != "not told apart"
    assert wrong / 150 <= 0.08
