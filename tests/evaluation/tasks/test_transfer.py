"""Transfer: worked accuracies, SentEval's parts and order, odd inputs."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from embedsearch.data.labelled import Latin1
from embedsearch.encoder.model import Encoder
from embedsearch.errors import UserError
from embedsearch.evaluation.suite import Chosen, Missing, averages, choose, run
from embedsearch.evaluation.task import Outcome, Subject, Task
from embedsearch.evaluation.tasks.transfer import TRANSFER

Embedded = NDArray[np.float32]


def never() -> Encoder:
    raise AssertionError("embeddings are enough")


def words(texts: Sequence[str]) -> Embedded:
    """Each word has a random vector of its own; a text is their sum."""
    return np.stack([sum(map(_word, text.split()), np.zeros(16, np.float32)) for text in texts])


def _word(word: str) -> Embedded:
    seed = int(hashlib.sha256(word.encode()).hexdigest()[:8], 16)
    return np.random.default_rng(seed).standard_normal(16).astype(np.float32)


def score(task: Task, embed: Callable[[Sequence[str]], Embedded] = words) -> Outcome:
    return task.score(Subject(embed, never))


def own(folder: Path, *parts: Iterable[tuple[str, str]]) -> Task:
    """A task of the user's own files."""
    files = []
    for place, rows in enumerate(parts):
        files.append(folder / f"{place}.tsv")
        files[-1].write_text("".join(f"{label}\t{text}\n" for label, text in rows), "utf-8")
    assert TRANSFER.own is not None
    return TRANSFER.own("mine", files)


def opened(name: str, path: Path) -> Task:
    return TRANSFER.open(next(data for data in TRANSFER.sets if data.name == name), path)


def numbers(texts: Sequence[str]) -> Embedded:
    """A text that begins with a number is that number."""
    return np.array([[float(text.split()[0])] for text in texts], np.float32)


def test_a_worked_accuracy_over_folds(tmp_path: Path) -> None:
    """Two of forty texts lie on the wrong side, each in a fold of four: 38 of 40."""
    rows = [("a", f"{-1 if n in (3, 11) else 1} {n}") for n in range(20)]
    rows += [("b", f"-1 {n}") for n in range(20)]
    outcome = score(own(tmp_path, rows), numbers)
    [accuracy] = outcome.scores
    assert accuracy.name == "accuracy"
    assert accuracy.value == pytest.approx(95.0)
    assert accuracy.sd is not None and accuracy.sd > 0
    assert outcome.notes[0] == "40 texts, 2 labels"


def test_tuned_on_dev_and_tested_on_test(tmp_path: Path) -> None:
    train = [("a", f"1 {n}") for n in range(9)] + [("b", f"-1 {n}") for n in range(9)]
    test = [("a", "1"), ("a", "2"), ("a", "-1"), ("b", "-2")]
    [accuracy] = score(own(tmp_path, train, train[::3], test), numbers).scores
    assert (accuracy.value, accuracy.sd) == (pytest.approx(75.0), None)


def test_pairs_have_their_difference_and_product_and_f1(tmp_path: Path) -> None:
    """Paraphrases are the pairs of equal numbers; one of the test's is not, and one more is."""

    def write(name: str, rows: Iterable[tuple[int, float, float]]) -> None:
        lines = ["\ufeffQuality\t#1 ID\t#2 ID\t#1 String\t#2 String"]
        lines += [f"{label}\t1\t2\t{first}\t{second}" for label, first, second in rows]
        (tmp_path / name).write_text("\n".join(lines) + "\n", "utf-8")

    train = [(1, n / 20, n / 20) for n in range(20)] + [(0, n / 20, 3 + n / 20) for n in range(20)]
    write("msr_paraphrase_train.txt", train)
    test = [(1, 0.5, 0.5), (1, 0.2, 0.2), (1, 0, 3), (0, 0.1, 3.1), (0, 0.3, 0.3)]
    write("msr_paraphrase_test.txt", test)
    task = opened("mrpc", tmp_path)
    accuracy, f1 = score(task, numbers).scores
    assert (accuracy.value, f1.name) == (pytest.approx(60.0), "f1")
    assert f1.value == pytest.approx(100 * 2 * 2 / (3 + 3))
    assert "|u-v|" in task.protocol
    assert len(list(task.texts())) == 2 * (40 + 5)


def test_trec_has_coarse_labels_and_may_be_latin_1(tmp_path: Path) -> None:
    kinds = ["NUM:dist How far is it", "LOC:city Which city is it", "HUM:ind Who is Andr\xe9"]
    (tmp_path / "train_5500.label").write_bytes("\n".join(kinds * 10).encode("latin-1"))
    (tmp_path / "TREC_10.label").write_bytes("\n".join(kinds).encode("latin-1"))
    with pytest.warns(Latin1):
        task = opened("trec", tmp_path)
    assert "Who is Andr\xe9" in task.texts()
    outcome = score(task)
    assert outcome.scores[0].value == 100.0
    assert outcome.notes[0] == "30 + 3 texts, 3 labels"


def test_texts_are_in_sentevals_order(tmp_path: Path) -> None:
    """On which its folds depend: by words, the negative first, and else as in the file."""
    (tmp_path / "rt-polarity.pos").write_text("p q r\np\nq\n")
    (tmp_path / "rt-polarity.neg").write_text("n n n\nn n\n\nn\n")
    assert list(opened("mr", tmp_path).texts()) == ["n", "p", "q", "n n", "n n n", "p q r"]


def test_ends_of_lines_and_marks_change_nothing(tmp_path: Path) -> None:
    prints = []
    for name, mark, end in (("plain", "", "\n"), ("other", "\ufeff", "\r\n")):
        (tmp_path / name).mkdir()
        for part in ("train", "dev", "test"):
            lines = [f"good film {n}\t1{end}bad film {n}\t0{end}" for n in range(10)]
            (tmp_path / name / f"sentiment-{part}").write_bytes((mark + "".join(lines)).encode())
        prints.append(opened("sst2", tmp_path / name).fingerprint)
    assert prints[0] == prints[1]


def test_a_label_that_training_lacks_is_wrong_and_named(tmp_path: Path) -> None:
    train = [(label, f"{label} {n}") for label in "ab" for n in range(12)]
    outcome = score(own(tmp_path, train, [("a", "a 1"), ("c", "c 1"), ("b", "b 2"), ("d", "a 3")]))
    assert outcome.scores[0].value == 50.0
    assert "not in the training part, so counted wrong: c, d" in outcome.notes


@pytest.mark.parametrize("lonely", [1, 3])
def test_a_class_smaller_than_the_folds(tmp_path: Path, lonely: int) -> None:
    rows = [("a", f"a {n}") for n in range(12)] + [("b", f"b {n}") for n in range(lonely)]
    outcome = score(own(tmp_path, rows))
    assert outcome.scores[0].value is not None and outcome.scores[0].value > 50
    assert "fewer than 10 texts, so not in every fold: b" in outcome.notes


def test_empty_blank_and_emoji_texts(tmp_path: Path) -> None:
    rows = [("a", text) for text in ("", "  ", "\u200b", "😀", "good film")] * 3
    outcome = score(own(tmp_path, rows + [("b", "bad"), ("b", "💔")] * 8))
    assert outcome.scores[0].value is not None
    assert "9 blank" in outcome.notes


def test_embeddings_that_are_all_the_same_find_the_larger_class(tmp_path: Path) -> None:
    rows = [("a", f"x {n}") for n in range(30)] + [("b", f"y {n}") for n in range(10)]
    [accuracy] = score(own(tmp_path, rows), lambda t: np.ones((len(t), 4), np.float32)).scores
    assert accuracy.value == pytest.approx(75.0)


def test_embeddings_that_are_not_finite_have_no_score(tmp_path: Path) -> None:
    rows = [(label, f"{label} {n}") for label in "ab" for n in range(12)]
    [accuracy] = score(
        own(tmp_path, rows), lambda t: np.full((len(t), 4), np.nan, np.float32)
    ).scores
    assert (accuracy.value, accuracy.reason) == (None, "some embeddings are not finite")


def test_files_that_are_no_task(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"4 files; give one, train and test, or with dev"):
        own(tmp_path, *[[("a", "x")]] * 4)
    with pytest.raises(UserError, match="all texts have the label 'a'"):
        own(tmp_path, [("a", "x")])
    (tmp_path / "train_5500.label").write_text("NUM:dist How far\nwhat\n")
    with pytest.raises(UserError, match=r"train_5500.label, line 2: it is not 'LABEL:fine"):
        opened("trec", tmp_path)
    (tmp_path / "msr_paraphrase_train.txt").write_text("head\n2\t1\t2\tx\ty\n")
    with pytest.raises(UserError, match=r"line 2: no 0 or 1 and two texts"):
        opened("mrpc", tmp_path)


def test_an_average_says_what_it_lacks(tmp_path: Path) -> None:
    for name, stem in (("MR", "rt-polarity"), ("CR", "custrev")):
        (tmp_path / name).mkdir()
        for side in ("pos", "neg"):
            lines = "".join(f"{side} {name} {n}\n" for n in range(12))
            (tmp_path / name / f"{stem}.{side}").write_text(lines)
    chosen = choose(["transfer"], tmp_path)
    assert [item.name for item in chosen if isinstance(item, Missing)][1] == "mpqa"
    found = run((item for item in chosen if isinstance(item, Chosen)), Subject(words, never))
    mean = averages(list(found))["transfer_avg"]
    assert mean.value == 100.0
    assert mean.reason == "2 of 7, without subj, mpqa, sst2, trec, mrpc"


@pytest.mark.parametrize(
    ("negative", "positive", "reason"),
    [("bad\nworse\nsad\n", "", "one label"), ("bad\n", "fine\n", "no label has more than 1")],
)
def test_too_few_texts_are_a_reason(
    negative: str, positive: str, reason: str, tmp_path: Path
) -> None:
    (tmp_path / "custrev.neg").write_text(negative)
    (tmp_path / "custrev.pos").write_text(positive)
    [found] = score(opened("cr", tmp_path)).scores
    assert found.value is None and reason in found.reason
