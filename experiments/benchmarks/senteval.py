"""SentEval's own classifier and the three ways it is tuned, written anew: the peer of transfer.

Its settings are those of SimCSE's evaluation and of the papers after it: no hidden layer, Adam at
its default rate, batches of 64, a look at the held-out accuracy every 4 epochs until 6 looks in all
did not raise it or 200 epochs are over, and 10 folds. The penalty is Adam's weight decay, on the
bias too. Torch means the loss over a batch today, where SentEval asks an old torch for the sum.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold
from torch import Tensor, nn

Floats = NDArray[np.float32]
Integers = NDArray[np.int64]
Labelled = tuple[Floats, Integers]
"""Features (texts, dim) and the number of each one's class."""

PENALTIES = (1e-5, 1e-4, 1e-3, 1e-2)
FOLDS = 10
FOLD_SEED = 1111
"""Of the nested folds, whatever the classifier's seed is."""

_BATCH, _LOOK_EVERY, _FRUITLESS, _EPOCHS, _HELD_OUT = 64, 4, 6, 200, 0.05


def nested(data: Labelled, seed: int) -> float:
    """Accuracy x100, the mean over the outer folds; each tunes the penalty on folds of its own."""
    found = []
    for train, test in _folds(data, FOLD_SEED):
        penalty = _best_of_folds(train, FOLD_SEED, seed)
        found.append(_accuracy(_fit_all(train, penalty, seed), test))
    return float(np.mean(found))


def folded(train: Labelled, test: Labelled, seed: int) -> float:
    """Accuracy x100 on ``test``, the penalty tuned on folds of ``train``."""
    return _accuracy(_fit_all(train, _best_of_folds(train, seed, seed), seed), test)


def split(train: Labelled, dev: Labelled, test: Labelled, seed: int) -> float:
    """Accuracy x100 on ``test``, the penalty tuned on ``dev``, which also ends the training."""
    penalty = _best(lambda penalty: _accuracy(_fit(train, dev, penalty, seed), dev))
    return _accuracy(_fit(train, dev, penalty, seed), test)


def _best_of_folds(data: Labelled, fold_seed: int, seed: int) -> float:
    folds = list(_folds(data, fold_seed))

    def mean(penalty: float) -> float:
        return float(np.mean([_accuracy(_fit(*fold, penalty, seed), fold[1]) for fold in folds]))

    return _best(mean)


def _best(score: Callable[[float], float]) -> float:
    """The first of the penalties with the highest score, rounded to two places as SentEval does."""
    scores = [round(score(penalty), 2) for penalty in PENALTIES]
    return PENALTIES[int(np.argmax(scores))]


def _folds(data: Labelled, seed: int) -> Iterable[tuple[Labelled, Labelled]]:
    rows, labels = data
    for inside, outside in StratifiedKFold(FOLDS, shuffle=True, random_state=seed).split(*data):
        yield (rows[inside], labels[inside]), (rows[outside], labels[outside])


def _fit_all(data: Labelled, penalty: float, seed: int) -> nn.Module:
    """Trained on 95 % of ``data``; the other texts end the training."""
    rows, labels = data
    order = np.random.RandomState(seed).permutation(len(rows))
    held, kept = np.split(order, [int(_HELD_OUT * len(rows))])
    return _fit((rows[kept], labels[kept]), (rows[held], labels[held]), penalty, seed)


def _fit(train: Labelled, held_out: Labelled, penalty: float, seed: int) -> nn.Module:
    rows, labels = _tensors(train)
    generator = np.random.RandomState(seed)
    torch.manual_seed(seed)
    model = nn.Linear(rows.shape[1], int(labels.max()) + 1)
    optimiser = torch.optim.Adam(model.parameters(), weight_decay=penalty, fused=True)
    best, best_model, fruitless = -1.0, model, 0
    for epoch in range(_EPOCHS + _LOOK_EVERY):
        order = torch.from_numpy(generator.permutation(len(rows)))
        for batch in torch.split(order, _BATCH):
            optimiser.zero_grad()
            loss = nn.functional.cross_entropy(model(rows[batch]), labels[batch])
            loss.backward()  # type: ignore[no-untyped-call]
            optimiser.step()
        if (epoch + 1) % _LOOK_EVERY:
            continue
        accuracy = _accuracy(model, held_out)
        if accuracy > best:
            best, best_model = accuracy, deepcopy(model)
        elif (fruitless := fruitless + 1) == _FRUITLESS:
            break
    return best_model


@torch.inference_mode()
def _accuracy(model: nn.Module, data: Labelled) -> float:
    rows, labels = _tensors(data)
    return 100 * float((model(rows).argmax(1) == labels).double().mean())


def _tensors(data: Labelled | Sequence[NDArray[np.generic]]) -> tuple[Tensor, Tensor]:
    return torch.from_numpy(data[0]), torch.from_numpy(data[1])
