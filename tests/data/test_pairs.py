"""Scored pairs: the benchmark layouts with the faults they are known for."""

from __future__ import annotations

from pathlib import Path

import pytest

from embedsearch.data.pairs import ScoredPairs, read_dev_pairs, read_sts_topic
from embedsearch.data.sentences import MAX_CHARACTERS
from embedsearch.errors import UserError

SENTEVAL = Path(__file__).parents[2] / "../shared/data/SentEval/downstream"
STSB = "genre\tfile\tyear\t{n}\t{gold}\t{first}\t{second}"


def stsb(gold: str, first: str, second: str, n: int = 1) -> str:
    return STSB.format(n=n, gold=gold, first=first, second=second)


def read(path: Path, *lines: str, end: str = "\n", mark: str = "") -> ScoredPairs:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes((mark + end.join([*lines, ""])).encode())
    return read_dev_pairs(path)


def topic(folder: Path, pairs: str, gold: str) -> ScoredPairs:
    sentences, scores = folder / "STS.input.news.txt", folder / "STS.gs.news.txt"
    sentences.write_bytes(pairs.encode())
    scores.write_bytes(gold.encode())
    return read_sts_topic(sentences, scores)


def test_an_unclosed_quote_is_a_character(tmp_path: Path) -> None:
    rows = [stsb("5.0", '"A man', "A woman"), stsb("1", "a", 'b"'), stsb("0", "c", "d")]
    pairs = read(tmp_path / "sts-dev.csv", *rows)
    assert (pairs.name, pairs.first, pairs.second) == (
        "stsb-dev",
        ('"A man', "a", "c"),
        ("A woman", 'b"', "d"),
    )
    assert pairs.gold.tolist() == [5.0, 1.0, 0.0]


def test_further_columns_are_not_read(tmp_path: Path) -> None:
    pairs = read(tmp_path / "a.csv", stsb("2", "a", "b"), stsb("3", "c", "d") + "\tx\ty")
    assert (pairs.first, pairs.second) == (("a", "c"), ("b", "d"))


@pytest.mark.parametrize(
    "row", [stsb("2", "a", ""), stsb("2", "a", "\u200b"), stsb("2", "a", "b")[:-2]]
)
def test_a_missing_sentence_is_named(tmp_path: Path, row: str) -> None:
    with pytest.raises(UserError, match=r"a\.csv, line 2: a sentence is missing or blank"):
        read(tmp_path / "a.csv", stsb("2", "a", "b"), row)


@pytest.mark.parametrize("gold", ["high", "nan", "inf"])
def test_a_gold_score_that_is_no_number_is_named(tmp_path: Path, gold: str) -> None:
    with pytest.raises(UserError, match=rf"a\.tsv, line 2: the gold score '{gold}' is no number"):
        read(tmp_path / "a.tsv", "1\ta\tb", f"{gold}\ta\tb")


def test_three_columns(tmp_path: Path) -> None:
    pairs = read(tmp_path / "mine.tsv", "4.5\ta  b\u00a0c\td", "", " \te\tf", "1\tg\th")
    assert (pairs.name, pairs.first, pairs.second) == ("mine", ("a b c", "g"), ("d", "h"))
    assert (pairs.counts.kept, pairs.counts.unscored) == (2, 1)
    assert str(pairs.counts) == "2 kept (1 without a gold score skipped)"


def test_marks_and_line_ends_do_not_matter(tmp_path: Path) -> None:
    rows = ["1\ta\tb", "2\tc\u2028c\td"]
    variants = [
        read(tmp_path / "a.tsv", *rows, end=end, mark=mark).fingerprint
        for end in ("\n", "\r\n", "\r")
        for mark in ("", "\ufeff")
    ]
    assert len(set(variants)) == 1
    assert read(tmp_path / "a.tsv", *reversed(rows)).fingerprint not in variants


def test_long_sentences_and_nul(tmp_path: Path) -> None:
    pairs = read(tmp_path / "a.tsv", f"1\t{'x' * 200_000}\tn\0ul", "2\ta\tb")
    assert (len(pairs.first[0]), pairs.second[0]) == (MAX_CHARACTERS, "nul")
    assert (pairs.counts.truncated, pairs.counts.nul, pairs.counts.kept) == (1, 1, 2)


def test_a_byte_of_another_encoding(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_bytes(b"1\ta\tb\n2\tcaf\xe9\tb\n")
    with pytest.raises(UserError, match=r"a\.tsv, line 2: not valid utf-8"):
        read_dev_pairs(tmp_path / "a.tsv")


def test_blank_gold_lines_are_skipped_and_counted(tmp_path: Path) -> None:
    pairs = topic(tmp_path, "a\tb\nc\td\ne\tf\n\n", "\n   \n4.5\n")
    assert (pairs.name, pairs.first, pairs.gold.tolist()) == ("news", ("e",), [4.5])
    assert pairs.counts.unscored == 2
    assert topic(tmp_path, "a\tb\nc\td\n", "1\n\n\n").counts.unscored == 1


@pytest.mark.parametrize("gold", ["1\n2\n", "1\n2\n3\n4\n"])
def test_counts_that_do_not_match(tmp_path: Path, gold: str) -> None:
    with pytest.raises(UserError, match=rf"has 3 pairs and .* {gold.count(chr(10))} scores"):
        topic(tmp_path, "a\tb\nc\td\ne\tf\n", gold)


def test_nothing_scored(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no pair with a gold score"):
        topic(tmp_path, "a\tb\n", "\n")
    with pytest.raises(UserError, match="no pair with a gold score"):
        read(tmp_path / "empty.tsv")


@pytest.mark.parametrize(
    "place", ["STSBenchmark", "STS/STSBenchmark", "downstream/STS/STSBenchmark"]
)
def test_a_senteval_folder(tmp_path: Path, place: str) -> None:
    read(tmp_path / place / "sts-dev.csv", stsb("1", "dev", "b"))
    read(tmp_path / place / "sts-test.csv", stsb("1", "test", "b"))
    for folder in [tmp_path / place, *(tmp_path / place).relative_to(tmp_path).parents]:
        assert read_dev_pairs(tmp_path / folder).first == ("dev",)
    test = read_dev_pairs(tmp_path, split="test")
    assert (test.name, test.first) == ("stsb-test", ("test",))
    with pytest.raises(UserError, match=r"it has no STSBenchmark/sts-train\.csv"):
        read_dev_pairs(tmp_path, split="train")
    with pytest.raises(UserError, match="it does not exist; give a file"):
        read_dev_pairs(tmp_path / "nowhere")


def test_hub_pairs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hub"))
    folder = tmp_path / "pairs"
    folder.mkdir()
    row = '{"sentence1": "a", "sentence2": "b", "label": 0.5}\n'
    (folder / "validation.jsonl").write_text(row)
    pairs = read_dev_pairs(f"hf:{folder}")
    assert (pairs.first, pairs.second, pairs.gold.tolist()) == (("a",), ("b",), [0.5])
    assert pairs.name.endswith("pairs-validation")
    (folder / "validation.jsonl").write_text(row.replace("label", "other"))
    with pytest.raises(UserError, match="has the columns sentence1, sentence2, other; pairs need"):
        read_dev_pairs(f"hf:{folder}")


@pytest.mark.skipif(not SENTEVAL.is_dir(), reason="the SentEval data is not there")
def test_real_files() -> None:
    assert len(read_dev_pairs(SENTEVAL)) == 1_500
    assert len(read_dev_pairs(SENTEVAL, split="test")) == 1_379
    year = sorted((SENTEVAL / "STS/STS16-en-test").glob("STS.input.*.txt"))
    topics = [read_sts_topic(path, Path(str(path).replace("input", "gs"))) for path in year]
    assert sum(len(pairs) for pairs in topics) == 1_186
