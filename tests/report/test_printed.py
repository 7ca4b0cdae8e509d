"""What the papers print, as it is shipped: consistent in itself, and as the papers have it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
import yaml

from embedsearch.errors import UserError
from embedsearch.report import printed
from embedsearch.report.printed import PrintedRow, load_printed, printed_papers

PAPERS = ("gur", "informin", "scd", "vascl")
EXPERIMENTS = Path(__file__).parents[2] / "experiments"

FAR = {
    "scd Table 2 BERT (mean)": 0.014,
    "informin Table 4 BERT (mean)": 0.014,
    "informin Table 4 SCD-BERT": -0.043,
}
"""Rows whose mean is not the average they print, and by how much; each is flagged."""


def rows() -> Iterator[tuple[str, dict[str, Any], PrintedRow]]:
    """Every row by its place, with its numbers by column."""
    for paper in PAPERS:
        for table in load_printed(paper).tables:
            for row in table.rows:
                numbers = dict(zip(table.columns, row.numbers, strict=True))
                yield f"{paper} {table.table} {row.label}", numbers, row


ROWS = {place: (numbers, row) for place, numbers, row in rows()}


def number(place: str, column: str) -> float:
    value = ROWS[place][0][column]
    assert isinstance(value, float)
    return value


def test_the_four_papers_are_there() -> None:
    assert tuple(printed_papers()) == PAPERS
    assert len(ROWS) == 13 + 10 + 4 + 1 + 17 + 15 + 3 + 4 + 3 + 1 + 9 + 9 + 3
    assert load_printed("SCD") == load_printed("scd")


def test_no_number_of_gur_is_printed() -> None:
    (table,) = load_printed("gur").tables
    assert table.columns == ["recall@100", "mrr@10"] and not table.rows and table.notes


def test_another_paper_offers_the_nearest() -> None:
    with pytest.raises(UserError, match=r"no paper 'vascal', perhaps 'vascl' \(there is gur, info"):
        load_printed("vascal")


def test_a_printed_average_is_the_mean_of_its_columns() -> None:
    far = {}
    for place, (numbers, row) in ROWS.items():
        *others, last = numbers
        if len(others) > 4 and (last == "avg7" or last.endswith("_avg")):
            apart = fmean(numbers[name] for name in others) - numbers[last]
            if abs(apart) > 0.01:
                far[place] = round(apart, 3)
                assert last in row.flags
    assert far == FAR


def test_table_3_of_scd_is_of_its_table_1() -> None:
    for short, whole in (("SCD (L_S + L_C)", "SCD-BERT"), ("BERT ([CLS])", "BERT ([CLS])")):
        numbers, _ = ROWS[f"scd Table 3 {short}"]
        years = [number(f"scd Table 1 {whole}", f"sts{year}") for year in range(12, 17)]
        assert numbers["avg5"] == pytest.approx(fmean(years), abs=0.005)
        for name in ("stsb", "sickr"):
            assert numbers[name] == number(f"scd Table 1 {whole}", name)


def test_what_informin_quotes_of_scd_is_what_scd_prints_but_for_sst2() -> None:
    for theirs, own in (("Table 2", "Table 1"), ("Table 4", "Table 2")):
        for label in ("SCD-BERT", "SCD-RoBERTa"):
            quoted, row = ROWS[f"informin {theirs} {label}"]
            numbers, _ = ROWS[f"scd {own} {label}"]
            assert row.quoted == load_printed("scd").paper
            apart = {name for name in numbers if quoted[name] != numbers[name]}
            assert apart == ({"sst2"} if (own, label) == ("Table 2", "SCD-BERT") else set())
            assert apart <= row.flags.keys()


def test_the_transfer_row_of_scd_is_flagged_in_every_number() -> None:
    numbers, row = ROWS["scd Table 2 SCD-BERT"]
    assert list(row.flags) == list(numbers)
    assert (numbers["mr"], numbers["subj"], numbers["transfer_avg"]) == (73.21, 99.56, 85.52)
    elsewhere = [float(row.flags[name].split()[0]) for name in numbers]
    assert [elsewhere[0], elsewhere[2], elsewhere[-1]] == [79.26, 93.57, 84.35]
    assert fmean(elsewhere[:-1]) == pytest.approx(elsewhere[-1], abs=0.005)


def test_the_ablations_of_informin_meet_its_tables() -> None:
    whole = (
        number("informin Table 2 InforMin-CL-BERT", "avg7"),
        number("informin Table 4 InforMin-CL-BERT", "transfer_avg"),
    )
    for place in ("Table 5 λ = 0.4", "Table 6 without MLM", "Table 7 batch 128"):
        assert tuple(ROWS[f"informin {place}"][0].values()) == whole
    mlm = number("informin Table 4 InforMin-CL-BERT MLM", "transfer_avg")
    assert number("informin Table 6 β = 0.1", "transfer_avg") == mlm


@pytest.mark.parametrize("path", sorted(EXPERIMENTS.glob("*.yaml")), ids=lambda path: path.stem)
def test_the_experiments_print_the_same(path: Path) -> None:
    file = yaml.safe_load(path.read_text(encoding="utf-8"))
    paper = load_printed(path.stem.partition("_")[0])
    assert file["paper"] == paper.paper
    for row in file["rows"]:
        for figure, value in row.get("printed", {}).items():
            column = next(
                (
                    own
                    for word, own in (
                        ("STS-B", "stsb"),
                        ("SICK-R", "sickr"),
                        ("tr", "transfer_avg"),
                    )
                    if word in figure
                ),
                "avg5" if path.stem == "scd_table3" else "avg7",
            )
            (table,) = (table for table in paper.tables if table.table == file["table"])
            place = table.columns.index(column)
            assert value in [each.numbers[place] for each in table.rows], (row["label"], figure)


def lines(text: str) -> set[tuple[float, ...]]:
    """The numbers of each line of a table, without its first cell."""
    cut = (line.partition("\t")[2] for line in text.splitlines() if "\t" in line)
    return {tuple(map(float, re.findall(r"-?\d+(?:\.\d+)?", line))) for line in cut}


def test_every_number_is_in_its_papers_text(shared: Path) -> None:
    texts = {name: (shared / "papers" / f"{name}.txt").read_text("utf-8") for name in PAPERS}
    found = {name: lines(text) for name, text in texts.items()}
    transposed = {n for line in found["informin"] for n in line}
    for place, (numbers, row) in ROWS.items():
        paper, own = place.split()[0], tuple(numbers.values())
        if row.spreads:
            cells = [x for pair in zip(own, row.spreads, strict=True) for x in pair]
            assert all(tuple(cells[at : at + 10]) in found[paper] for at in (0, 10, 20)), place
            # Table 3 is the same without ATIS, the second of the sets.
            short = [x for at, x in enumerate(cells) if at % 10 not in (2, 3)]
            assert all(tuple(short[at : at + 8]) in found[paper] for at in (0, 8, 16)), place
        elif "Section" in place:
            assert all(f"({value:g})" in texts[paper] for value in own), place
        elif "Table 7" in place:
            assert set(own) <= transposed, place
        else:
            assert own in found[paper] or own[::-1] in found[paper], place


def broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, table: str) -> str:
    """What is said of a paper with this one table."""
    head = "paper: us\ntitle: t\nsource: s\ntables:\n  - table: Table 1\n    title: t\n"
    (tmp_path / "own.yaml").write_text(f"{head}    protocol: p\n{table}")
    monkeypatch.setattr(printed, "FOLDER", tmp_path)
    with pytest.raises(UserError) as raised:
        load_printed("own")
    return str(raised.value)


def test_what_is_no_table_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def said(table: str) -> str:
        return broken(tmp_path, monkeypatch, table)

    row = "{label: a, backbone: b, numbers: [1, 2]"
    columns = "    columns: [cr, mr]\n    rows:\n"
    assert "Table 1 has no rows: say why" in said("    columns: [cr]\n    rows: []\n")
    assert "'a' of Table 1 has not one number a column" in said(
        f"    columns: [cr]\n    rows:\n      - {row}}}\n"
    )
    assert "Table 1 has 'a' twice" in said(f"{columns}      - {row}}}\n      - {row}}}\n")
    assert "no column 'mrr', perhaps 'mr'" in said(f"{columns}      - {row}, flags: {{mrr: x}}}}\n")
    assert "no key 'colour'" in said(f"{columns}      - {row}, colour: x}}\n")
