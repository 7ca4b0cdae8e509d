"""The classifiers of transfer beside a naive loop, and beside SentEval's own procedure."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold

from embedsearch.encoder.model import Encoder
from embedsearch.evaluation import logistic
from embedsearch.evaluation.logistic import PENALTIES, Labelled, folded, nested, split
from embedsearch.evaluation.tasks.transfer import TRANSFER, Transfer
from experiments.benchmarks import senteval
from experiments.benchmarks.transfer import SEEDS, peer

SENTEVAL = Path(__file__).parents[2] / "../shared/data/SentEval/downstream"

APART = "64.0 ± 0.4 beside 66.2; that SentEval stops early accounts for a part"


def blobs(count: int, classes: int, seed: int) -> Labelled:
    """Overlapping clouds about fixed centres, off the origin and of unequal spread."""
    centres = np.random.default_rng(0).standard_normal((classes, 8))
    rng = np.random.default_rng(seed)
    labels = rng.integers(classes, size=count)
    rows = 2 + 0.7 * centres[labels] + rng.standard_normal((count, 8)) * np.geomspace(0.3, 1.5, 8)
    return Labelled(rows.astype(np.float32), labels)


def naive(train: Labelled, test: Labelled) -> tuple[float, float]:
    """The penalty and accuracy by scikit-learn's own defaults, to the last digit."""

    def accuracy(penalty: float, train: Labelled, test: Labelled) -> float:
        model = LogisticRegression(C=1 / (len(train.rows) * penalty), tol=1e-9, max_iter=10**4)
        rows = train.rows.astype(np.float64)
        return 100 * float(model.fit(rows, train.labels).score(test.rows, test.labels))

    folds = StratifiedKFold(logistic.FOLDS, shuffle=True, random_state=1111)
    pairs = [(train.part(a), train.part(b)) for a, b in folds.split(train.rows, train.labels)]
    means = [np.mean([accuracy(p, *pair) for pair in pairs]) for p in PENALTIES]
    best = PENALTIES[int(np.argmax(np.round(means, 2)))]
    return best, accuracy(best, train, test)


@pytest.fixture
def three_folds(monkeypatch: pytest.MonkeyPatch) -> None:
    """On both sides, for ten take minutes."""
    monkeypatch.setattr(logistic, "FOLDS", 3)
    monkeypatch.setattr(senteval, "FOLDS", 3)


@pytest.mark.parametrize("classes", [2, 3])
def test_tuned_on_folds_as_by_a_naive_loop(classes: int) -> None:
    train, test = blobs(150, classes, 1), blobs(500, classes, 2)
    found = folded(train, test)
    penalty, accuracy = naive(train, test)
    assert found.penalty == penalty
    assert found.accuracy == pytest.approx(accuracy, abs=0.21)  # one text on the border


@pytest.mark.usefixtures("three_folds")
def test_nested_is_folded_in_each_fold() -> None:
    data = blobs(120, 2, 3)
    folds = StratifiedKFold(3, shuffle=True, random_state=1111).split(data.rows, data.labels)
    expected = [naive(data.part(train), data.part(test)) for train, test in folds]
    assert [(each.penalty, each.accuracy) for each in nested(data)] == expected


def test_where_the_embeddings_lie_changes_nothing() -> None:
    train, dev, test = blobs(150, 2, 1), blobs(100, 2, 2), blobs(200, 2, 3)
    moved = [Labelled(part.rows + 50, part.labels) for part in (train, dev, test)]
    here, there = split(train, dev, test), split(*moved)
    assert here.penalty == there.penalty
    assert (here.predicted == there.predicted).all()


def clouds(count: int, classes: int, seed: int) -> Labelled:
    """So many and so wide that SentEval's Adam, at its fixed rate, comes near the minimum.

    Of few or short vectors it stops far from it, and the two procedures differ.
    """
    centres = np.random.default_rng(0).standard_normal((classes, 32)) / 4
    rng = np.random.default_rng(seed)
    labels = rng.integers(classes, size=count)
    rows = 2 * (centres[labels] + rng.standard_normal((count, 32)))
    return Labelled(rows.astype(np.float32), labels)


def test_beside_sentevals_procedure_on_a_split(monkeypatch: pytest.MonkeyPatch) -> None:
    for side in (logistic, senteval):
        monkeypatch.setattr(side, "PENALTIES", (1e-2, 1e-3))
    parts = [clouds(1000, 2, 8), clouds(500, 2, 9), clouds(4000, 2, 10)]
    assert_agree(split(*parts).accuracy, parts)


@pytest.mark.slow
@pytest.mark.usefixtures("three_folds")
def test_beside_sentevals_procedure_on_folds() -> None:
    train, test = parts = [clouds(1000, 4, 6), clouds(4000, 4, 7)]
    assert_agree(folded(train, test).accuracy, parts)
    assert_agree(float(np.mean([each.accuracy for each in nested(train)])), [train])


@pytest.mark.slow
@pytest.mark.timeout(7200)
@pytest.mark.skipif(not SENTEVAL.is_dir(), reason="SentEval's data is not there")
@pytest.mark.parametrize(
    "name",
    ["cr", pytest.param("trec", marks=pytest.mark.xfail(reason=APART, strict=True))],
)
def test_beside_sentevals_procedure_on_its_data(name: str) -> None:
    data = next(data for data in TRANSFER.sets if data.name == name)
    task = TRANSFER.open(data, SENTEVAL / data.place)
    assert isinstance(task, Transfer)
    encoder = Encoder.load("nano", "mean").eval()
    parts = task.labelled(lambda texts: encoder.embed(texts).numpy())
    train, *tests = parts
    ours = [folded(train, *tests)] if tests else nested(train)
    assert_agree(float(np.mean([each.accuracy for each in ours])), parts)


def assert_agree(accuracy: float, parts: list[Labelled]) -> None:
    """Within 0.6 or two standard deviations of SentEval's five seeds."""
    torch.set_num_threads(1)
    theirs = [peer(parts, seed) for seed in SEEDS[:5]]
    assert abs(accuracy - np.mean(theirs)) <= max(0.6, 2 * np.std(theirs, ddof=1))
