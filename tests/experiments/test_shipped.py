"""The experiments that come with the project are laid out; none is run."""

from __future__ import annotations

from pathlib import Path

import pytest

from embedsearch.cli.options import SettingChoices
from embedsearch.cli.study import Study, make_study
from embedsearch.data.corpus import Corpus
from embedsearch.data.documents import KeptDocuments
from embedsearch.sweep.experiment import load_experiment
from embedsearch.tracking.ledger import StoreLedger
from embedsearch.tracking.store import Store

FOLDER = Path(__file__).parents[2] / "experiments"
FILES = sorted(FOLDER.glob("*.yaml"))
NEEDS_MORE = ("WNet", "CTxt")
"""Rows that read what a machine may not have."""


def study(path: Path, tmp_path: Path) -> Study:
    choices = SettingChoices(preset="demo", storage=str(tmp_path / "work"))
    store = Store.open(str(tmp_path / "mlruns"))
    return make_study(load_experiment(path), choices, None, StoreLedger(store), gpus=0)


def test_there_is_one_for_each_table() -> None:
    assert {path.stem for path in FILES} >= {
        "scd_table3", "scd_published", "informin_lambda", "informin_beta", "informin_batch",
        "informin_published", "vascl_delta", "vascl_augment", "vascl_published",
        "gur_published", "gur_ablation",
    }  # fmt: skip


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_row_is_laid_out_on_the_demo(path: Path, tmp_path: Path) -> None:
    found = study(path, tmp_path)
    assert found.experiment.about and found.experiment.paper and found.experiment.table
    specs = [spec for line in found.lines for spec in line.specs]
    assert len({spec.id for spec in specs}) == len(specs), "two rows are the same trial"
    for line in found.lines:
        assert line.specs or any(need in line.label for need in NEEDS_MORE), line.reason
        assert bool(line.specs) != bool(line.reason)
        assert all(spec.total_steps in (0, 80) for spec in line.specs)
    assert all(sweep.grid == path.stem for sweep in found.sweeps)


def test_scd_table3_takes_each_term_away(tmp_path: Path) -> None:
    lines = {line.label: line for line in study(FOLDER / "scd_table3.yaml", tmp_path).lines}
    whole, contrast, decorrelation = (
        lines[label].values for label in ("SCD (L_S + L_C)", "SCD (L_S)", "SCD (L_C)")
    )
    assert contrast == {**whole, "alpha": 0}
    assert decorrelation == {**whole, "temperature": 1e12}
    assert lines["SCD (L_S + L_C)"].printed == {"STS": 73.96, "STS-B": 76.30, "SICK-R": 73.18}


@pytest.mark.parametrize(
    ("name", "key"), [("lambda", "lambda"), ("beta", "beta"), ("batch", "batch_size")]
)
def test_informin_changes_one_thing(name: str, key: str, tmp_path: Path) -> None:
    rows = [line.values for line in study(FOLDER / f"informin_{name}.yaml", tmp_path).lines]
    assert len({row[key] for row in rows}) == len(rows)
    assert all({**row, key: None} == {**rows[0], key: None} for row in rows)


def test_gur_and_its_peer_train_on_the_same_text(tmp_path: Path) -> None:
    """Documents for the one, their sentences for the other, and one T5 for all."""
    found = study(FOLDER / "gur_published.yaml", tmp_path)
    specs = {line.label: line.specs[0] for line in found.lines}
    assert {spec.backbone.name for spec in specs.values()} == {"nano-t5"}
    documents = KeptDocuments.at(Path(specs["GUR"].corpus.location))
    corpus = Corpus.at(Path(specs["SimCSE"].corpus.location))
    assert specs["SimCSE"].corpus.name == "demo, sentences"
    first = next(iter(documents)).sentences
    assert corpus[: len(first)] == first
    assert len(corpus) == sum(len(document.sentences) for document in documents)
    assert "on the sentences of the documents: SimCSE" in found.said(1)
