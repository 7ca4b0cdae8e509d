"""Measured numbers beside printed ones: a worked comparison, and its tables."""

import io
import json

import pytest
from rich.console import Console

from embedsearch.errors import UserError
from embedsearch.report.against import Against, against
from embedsearch.report.against_table import show_against
from embedsearch.report.printed import load_printed, printed_papers
from embedsearch.report.rows import WIDTH, narrow

HUB = "sentence-transformers/wiki1m-for-simcse"


def shown(found: Against, terminal: bool = False) -> str:
    out = io.StringIO()
    console = Console(
        file=out, force_terminal=terminal, width=WIDTH, color_system=None, markup=False
    )
    show_against(console, found.to_json())
    return out.getvalue()


def words(text: str, start: str) -> list[str]:
    return next(line for line in text.splitlines() if line.startswith(start)).split()


def test_a_worked_comparison() -> None:
    scd = against("scd", {"stsb": 77.0, "avg7": 70.0, "dev": 1.0}, "bert-base-uncased", HUB)
    found = json.loads(json.dumps(scd.to_json(), allow_nan=False))
    table, ablation = found["tables"]
    assert (table["table"], ablation["table"]) == ("Table 1", "Table 3")
    assert (table["measured"]["stsb"], table["measured"]["sts12"]) == (77.0, None)
    rows = {row["label"]: row for row in table["rows"]}
    own = rows["SCD-BERT"]["figures"]
    assert own["stsb"]["printed"] == 76.30
    assert own["stsb"]["difference"] == pytest.approx(0.70)
    assert own["avg7"]["difference"] == pytest.approx(-4.19)
    assert (own["sts12"]["printed"], own["sts12"]["difference"]) == (66.94, None)
    assert rows["SCD-BERT"]["caution"] is None
    assert rows["SimCSE-BERT"]["figures"]["avg7"]["flag"] == "76.25 in SimCSE's repository"
    assert found["not_measured"] == [
        "Table 2 (transfer)",
        "Section 3.4.2 (alignment and uniformity)",
    ]
    assert found["not_printed"] == ["dev"]


def test_another_backbone_or_corpus_is_said_in_a_line() -> None:
    found = against("scd", {"avg7": 50.0}, "nano", "wiki_sentences.txt").to_json()
    rows = {row["label"]: row for row in found["tables"][0]["rows"]}
    assert rows["SCD-BERT"]["caution"] == (
        "measured on nano trained on wiki_sentences.txt; "
        "the paper's row is bert-base-uncased on wiki1m: not comparable"
    )
    assert rows["BERT-flow"]["caution"].endswith(
        "bert-base-uncased on a corpus it does not name: not comparable"
    )
    assert found["remark"] == (
        "measured on nano trained on wiki_sentences.txt; the paper's rows are "
        "GloVe, bert-base-uncased or roberta-base, untrained or on wiki1m: not comparable"
    )


@pytest.mark.parametrize(
    ("backbone", "corpus", "alike"),
    [
        ("roberta-base", HUB, ["SimCSE (base)", "VaSCL (base)"]),
        ("FacebookAI/roberta-base", "wiki1m_for_simcse.txt", ["SimCSE (base)", "VaSCL (base)"]),
        ("roberta-base", "none", ["RoBERTa (base)"]),
        ("roberta-base", "wiki1m_first_1000.txt", []),
        ("bert-base-uncased", HUB, []),
    ],
)
def test_alike_is_backbone_and_corpus(backbone: str, corpus: str, alike: list[str]) -> None:
    found = against("vascl", {"avg7": 70.0}, backbone, corpus).to_json()
    assert [row["label"] for row in found["tables"][0]["rows"] if not row["caution"]] == alike
    assert (f"of the same backbone and corpus: {', '.join(alike)};" in found["remark"]) == bool(
        alike
    )


def test_the_table_in_plain_lines() -> None:
    text = shown(against("scd", {"cr": 80.0, "transfer_avg": 85.0}, "bert-base-uncased", "none"))
    assert "Table 2: transfer; accuracy x100 of logistic regression" in text
    assert "Table 1: " not in text
    assert words(text, "measured  ") == ["measured", "80.00", "85.00"]
    assert words(text, "BERT ([CLS])") == ["BERT", "([CLS])", "87.39", "86.10*"]
    lines = text.splitlines()
    after = lines[next(i for i, line in enumerate(lines) if line.startswith("SCD-BERT")) + 1]
    assert after.split() == ["-5.80", "-0.52"]
    assert (
        "* SCD-BERT, cr: 84.85 in the authors' repository; "
        "transfer_avg: 84.35 in the authors' repository\n"
    ) in text
    assert "SimCSE-RoBERTa, mr" not in text, "a flag of what was not measured"
    assert "not measured: mr, subj, mpqa, sst2, trec, mrpc\n" in text


def test_spreads_and_further_decimals_are_shown_as_printed() -> None:
    intents = shown(against("vascl", {"snips/5-shot": 77.0}, "roberta-base", "none"))
    assert words(intents, "RoBERTa") == ["RoBERTa", "76.71", "±", "4.84"]
    alignment = shown(against("informin", {"alignment": 0.15}, "bert-base-uncased", HUB))
    assert words(alignment, "InforMin") == ["InforMin-CL-BERT", "0.143"]
    assert "+0.007" in alignment


def test_curves_leave_the_measured_alone() -> None:
    text = shown(against("gur", {"recall@100": 60.0}, "t5-small", "documents.jsonl"))
    assert text.splitlines()[1] == "measured on t5-small trained on documents.jsonl"
    assert words(text, "measured  ") == ["measured", "60.00"]
    assert "prints no number" in text


def test_nothing_in_common() -> None:
    text = shown(against("gur", {"sts12": 60.0}, "nano", "demo"))
    assert "not measured: Figures 6 and 7 (retrieval, zero-shot)\nnot printed: sts12\n" in text


@pytest.mark.parametrize("paper", printed_papers())
def test_every_table_fits_a_terminal(paper: str) -> None:
    measured = {name: 0.0 for table in load_printed(paper).tables for name in table.columns}
    lines = shown(against(paper, measured, "nano", "demo"), terminal=True).splitlines()
    assert all(len(line) <= WIDTH for line in lines if line[:1] in "│┃┏└")
    heads = [line for line in lines if line.startswith("┃")]
    assert all("…" not in line for line in lines) and heads
    if paper != "vascl":
        assert len(heads) == len(load_printed(paper).tables), "a table in pieces"


def test_a_wide_table_comes_in_pieces_with_its_first_column() -> None:
    row = {"": "a", **{f"{n:040}": "1" for n in range(3)}}
    assert [list(piece[0]) for piece in narrow([row])] == [
        ["", f"{0:040}", f"{1:040}"],
        ["", f"{2:040}"],
    ]


def test_an_unknown_paper() -> None:
    with pytest.raises(UserError, match="perhaps 'informin'"):
        against("informn", {}, "nano", "demo")
