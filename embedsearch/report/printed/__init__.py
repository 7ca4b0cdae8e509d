"""What the papers print of how encoders score: ``NAME.yaml`` beside this file, one per paper."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from embedsearch.config import unknown, validate
from embedsearch.document import read_yaml
from embedsearch.errors import UserError

FOLDER = Path(__file__).parent
UNTRAINED = "none"
"""The corpus of what was not trained."""

Words = Annotated[str, Field(min_length=1)]


class PrintedRow(BaseModel):
    """One encoder of a table."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    label: Words
    backbone: Words
    """As on the hub, where it is there."""
    corpus: str = ""
    """``wiki1m`` for 10⁶ sentences of Wikipedia; empty where the paper does not say."""
    quoted: str = ""
    """Whose figures the paper repeats; empty for its own."""
    numbers: list[float | None]
    """In the order of the table's columns."""
    spreads: list[float] = []
    """Their standard deviations, where the table has any."""
    flags: dict[str, Words] = {}
    """What speaks against a number elsewhere, by column."""


class PrintedTable(BaseModel):
    """One table of a paper."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    table: Words
    title: Words
    protocol: Words
    columns: Annotated[list[Words], Field(min_length=1)]
    """Tasks as ``evaluate`` names them (``sts12``, ``snips/5-shot``), and averages of them."""
    rows: list[PrintedRow]
    notes: list[Words] = []

    @model_validator(mode="after")
    def _is_a_table(self) -> Self:
        if not self.rows and not self.notes:
            raise ValueError(f"{self.table} has no rows: say why in its notes")
        labels = [row.label for row in self.rows]
        for names in (self.columns, labels):
            if twice := next((name for name in names if names.count(name) > 1), None):
                raise ValueError(f"{self.table} has '{twice}' twice")
        for row in self.rows:
            numbers, spreads, columns = len(row.numbers), len(row.spreads), len(self.columns)
            if numbers != columns or spreads not in (0, columns):
                raise ValueError(f"'{row.label}' of {self.table} has not one number a column")
            if lost := [name for name in row.flags if name not in self.columns]:
                raise ValueError(f"'{row.label}': {unknown('column', lost[0], self.columns)}")
        return self


class Printed(BaseModel):
    """The tables of one paper."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Words
    paper: Words
    """Authors and year."""
    title: Words
    source: Words
    """Where to read it."""
    tables: Annotated[list[PrintedTable], Field(min_length=1)]


def load_printed(paper: str) -> Printed:
    """What a paper prints, by its method's name; ``UserError`` for another, with the nearest."""
    papers = printed_papers()
    if paper.lower() not in papers:
        raise UserError(f"{unknown('paper', paper, papers)}: take one of these")
    path = papers[paper.lower()]
    table = read_yaml(path)
    table["name"] = path.stem
    return validate(Printed, table)


def printed_papers() -> dict[str, Path]:
    """The papers whose numbers come with the package, by the name of their method."""
    return {path.stem: path for path in sorted(FOLDER.glob("*.yaml"))}
