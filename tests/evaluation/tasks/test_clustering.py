"""Clustering: worked agreements, labels that only have to differ, and files that hurt."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from embedsearch.encoder.model import Encoder
from embedsearch.errors import UserError
from embedsearch.evaluation.suite import Chosen, Missing, averages, choose, run
from embedsearch.evaluation.task import Outcome, Subject
from embedsearch.evaluation.tasks.clustering import METRICS, agreement


def no_encoder() -> Encoder:
    raise AssertionError("embeddings are enough")


def words(texts: Sequence[str]) -> NDArray[np.float32]:
    """The sum of a random vector for each word: texts with the same words lie together."""
    vectors = np.zeros((len(texts), 8), dtype=np.float32)
    for row, text in enumerate(texts):
        for word in text.split():
            seed = int(hashlib.sha256(word.encode()).hexdigest()[:8], 16)
            vectors[row] += np.random.default_rng(seed).normal(size=8)
    return vectors


Scored = Callable[..., Outcome]


@pytest.fixture
def scored(tmp_path: Path) -> Scored:
    def score(lines: Sequence[str], embed: Callable[..., NDArray[np.float32]] = words) -> Outcome:
        file = tmp_path / "own.tsv"
        file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        [chosen] = choose([f"clustering:{file}"], None)
        assert isinstance(chosen, Chosen)
        return chosen.task.score(Subject(embed, no_encoder))

    return score


TOPICS = {"sport": "ball goal", "money": "bank rate", "food": "bread salt"}
LINES = [
    f"{topic}\t{text} {'now' if i % 3 else 'then'}"
    for i in range(4)
    for topic, text in TOPICS.items()
]


def values(outcome: Outcome) -> Mapping[str, float | None]:
    return {score.name: score.value for score in outcome.scores}


def test_worked_agreement() -> None:
    """Clusters 0 and 1 take labels 1 and 0: 5 of 7 right; cluster 2 is left alone."""
    gold, found = np.array([0, 0, 0, 1, 1, 1, 1]), np.array([1, 1, 2, 0, 0, 0, 2])
    accuracy, nmi, ari = agreement(gold, found.astype(np.int32))
    assert accuracy == pytest.approx(100 * 5 / 7)
    p = np.array([[0, 2, 1], [3, 0, 1]]) / 7
    outer = np.outer(p.sum(1), p.sum(0))
    mutual = (p[p > 0] * np.log(p[p > 0] / outer[p > 0])).sum()
    entropies = [-(q * np.log(q)).sum() for q in (p.sum(0), p.sum(1))]
    assert nmi == pytest.approx(100 * mutual / np.mean(entropies))
    # pairs together in both: 1 + 3; in gold 3 + 6, in found 3 + 1 + 1; of 21
    expected = 9 * 5 / 21
    assert ari == pytest.approx(100 * (4 - expected) / ((9 + 5) / 2 - expected))


def test_the_assignment_is_the_best_of_all() -> None:
    random = np.random.default_rng(0)
    gold, found = random.integers(0, 5, 60), random.integers(0, 5, 60).astype(np.int32)
    best = max((np.array(order)[found] == gold).mean() for order in permutations(range(5)))
    assert agreement(gold, found)[0] == pytest.approx(100 * best)


def test_finds_topics_again(scored: Scored) -> None:
    outcome = scored(LINES)
    assert values(outcome) == {metric: pytest.approx(100) for metric in METRICS}
    assert [score.sd for score in outcome.scores] == [pytest.approx(0, abs=1e-9)] * 3
    assert outcome.notes == ("12 texts, 3 labels", "6 repeated")


def test_mean_and_sd_are_of_ten_seeds(scored: Scored, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half the runs are right, half put all but one text together: 4 + 1 of 12."""
    from embedsearch.evaluation.tasks import clustering

    right = np.array([0, 1, 2] * 4, dtype=np.int32)
    wrong = np.array([0] * 11 + [1], dtype=np.int32)

    def half(embeddings: object, clusters: int, seeds: Sequence[int]) -> list[NDArray[np.int32]]:
        assert (clusters, list(seeds)) == (3, list(range(10)))
        return [right if seed % 2 else wrong for seed in seeds]

    monkeypatch.setattr(clustering, "kmeans", half)
    accuracy = scored(LINES).scores[0]
    runs = [100.0, 100 * 5 / 12] * 5
    assert accuracy.value == pytest.approx(np.mean(runs))
    assert accuracy.sd == pytest.approx(np.std(runs, ddof=1))


def test_what_labels_are_called_is_of_no_account(scored: Scored) -> None:
    """1-based and sparse, or a name that sorts otherwise: the same number, to the bit."""
    random = np.random.default_rng(1)
    lines = [
        (int(random.integers(3)), f"w{random.integers(40)} v{random.integers(9)}")
        for _ in range(90)
    ]
    named = [
        scored([f"{names[label]}\t{text}" for label, text in lines])
        for names in ((0, 1, 2), (7, 1, 900), ("zoo", " b", "10"))
    ]
    assert 0 < (named[0].scores[0].value or 0) < 100
    assert named[0] == named[1] == named[2]


def test_more_labels_than_embeddings_that_differ(scored: Scored) -> None:
    outcome = scored([f"{label}\tthe same" for label in range(5)] + ["5\tanother"])
    assert values(outcome)["accuracy"] == pytest.approx(100 * 2 / 6)
    assert outcome.notes == (
        "6 texts, 6 labels",
        "4 repeated",
        "2 clusters: no more embeddings differ",
    )


def test_as_many_labels_as_texts(scored: Scored) -> None:
    assert values(scored(["a\tone", "b\ttwo", "c\tthree"]))["accuracy"] == pytest.approx(100)


@pytest.mark.parametrize(
    ("lines", "embed", "reason"),
    [
        (["a\tone", "a\ttwo"], words, "all texts have the same label"),
        (["a\tone"], words, "all texts have the same label"),
        (
            ["a\tone", "b\ttwo"],
            lambda texts: np.ones((2, 3), np.float32),
            "all embeddings are the same",
        ),
        (["a\tone", "b\tone"], words, "all embeddings are the same"),
        (
            ["a\tone", "b\ttwo"],
            lambda texts: np.full((2, 3), np.nan, np.float32),
            "2 of 2 embeddings are not finite",
        ),
    ],
)
def test_no_number_where_it_means_nothing(
    scored: Scored, lines: list[str], embed: Callable[..., NDArray[np.float32]], reason: str
) -> None:
    outcome = scored(lines, embed)
    assert [(s.name, s.value, s.sd, s.reason) for s in outcome.scores] == [
        (metric, None, None, reason) for metric in METRICS
    ]


def test_blank_and_emoji_texts_count(scored: Scored) -> None:
    outcome = scored(["a\t ", "a\t\u200b", "b\t🎉 🎉", "b\t🎉", "", "a\t"])
    assert all(np.isfinite(score.value or np.nan) for score in outcome.scores)
    assert outcome.notes[:2] == ("5 texts, 2 labels", "3 blank")


def test_byte_order_mark_and_line_ends_change_nothing(scored: Scored, tmp_path: Path) -> None:
    plain = scored(LINES)
    file = tmp_path / "other.tsv"
    file.write_bytes(b"\xef\xbb\xbf" + "".join(f"{line}\r\n" for line in LINES).encode())
    [chosen] = choose([f"clustering:{file}"], None)
    assert isinstance(chosen, Chosen)
    assert chosen.task.score(Subject(words, no_encoder)) == plain


def test_a_line_without_a_label_is_named(scored: Scored) -> None:
    with pytest.raises(UserError, match=r"own\.tsv, line 2: no label"):
        scored(["a\tone", "two"])


def test_published_sets_are_found_and_averaged(tmp_path: Path) -> None:
    (tmp_path / "clustering").mkdir()
    for file in ("AgNews", "Tweet"):
        (tmp_path / "clustering" / f"{file}.tsv").write_text("\n".join(LINES), encoding="utf-8")
    chosen = choose(["clustering"], tmp_path)
    names = [item.task.name if isinstance(item, Chosen) else item.name for item in chosen]
    assert names == [
        "agnews",
        "searchsnippets",
        "stackoverflow",
        "biomedical",
        "tweet",
        "googlenews",
    ]
    missing = [item for item in chosen if isinstance(item, Missing)]
    assert len(missing) == 4 and "rashadulrakib" in missing[0].reason
    there = [item for item in chosen if isinstance(item, Chosen)]
    means = averages(list(run(there, Subject(words, no_encoder))))
    assert means["clustering_avg"].value == pytest.approx(100)
    assert means["clustering_avg"].reason.startswith("2 of 6, without searchsnippets")
