"""The options that several commands share, each said once."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

Method = Annotated[str, Argument(help="scd, simcse, frozen, or a space of your own.")]
Overrides = Annotated[
    list[str] | None, Argument(metavar="KEY=VALUE", help="Hyperparameters, over all else.")
]
Grid = Annotated[
    str | None, Option(help="A named part of the method's search space; its first if none.")
]
MaxTrials = Annotated[int | None, Option(min=1, help="At most so many points of the grid.")]
Around = Annotated[str | None, Option(metavar="RUN_ID", help="Centre of a fine grid.")]
Preset = Annotated[str | None, Option(help="demo, paper, or a YAML file of your own.")]
Backbone = Annotated[str | None, Option(metavar="NAME|FOLDER", help="nano, hub name or folder.")]
Corpus = Annotated[str | None, Option(metavar="FILE|hf:…", help="Sentences to train on.")]
Dev = Annotated[str | None, Option(metavar="FILE|FOLDER|hf:…", help="Scored pairs to select on.")]
Steps = Annotated[int | None, Option(min=1, help="Optimiser steps a trial.")]
EvalSteps = Annotated[int | None, Option(min=1, help="Steps between two dev scores.")]
Pooling = Annotated[str | None, Option(help="cls, mean, first_last or top2.")]
Seed = Annotated[int | None, Option(min=0, help="Of every trial.")]
Device = Annotated[str | None, Option(help="auto, cpu or cuda.")]
Precision = Annotated[str | None, Option(help="auto, fp32 or bf16.")]
CpusPerTrial = Annotated[int | None, Option(min=1, help="CPU threads a trial.")]
GpusPerTrial = Annotated[float | None, Option(min=0, help="GPUs a trial; a fraction shares one.")]
Encoding = Annotated[str, Option(help="Of the corpus file.")]
Column = Annotated[str | None, Option(help="Of the sentences, in a table or JSON Lines.")]
Format = Annotated[
    str | None, Option(help="Of the corpus file: text, jsonl, csv, tsv or parquet; found if none.")
]
Storage = Annotated[
    Path, Option(help="Folder for work in progress and caches; shared by all nodes of a cluster.")
]
Store = Annotated[str | None, Option(metavar="URI", help="MLflow store; mlruns/mlflow.db if none.")]
Json = Annotated[bool, Option("--json", help="One JSON object instead of text.")]

STORAGE = Path(".embedsearch")


@dataclass(frozen=True)
class Choices:
    """What one command line says of its trials; None where it says nothing."""

    method: str
    overrides: list[str] = field(default_factory=list)
    grid: str | None = None
    single: bool = False
    """One trial at the method's defaults, no grid."""
    max_trials: int | None = None
    around: str | None = None
    preset: str | None = None
    backbone: str | None = None
    corpus: str | None = None
    dev: str | None = None
    steps: int | None = None
    eval_steps: int | None = None
    pooling: str | None = None
    seed: int | None = None
    device: str | None = None
    precision: str | None = None
    cpus_per_trial: int | None = None
    gpus_per_trial: float | None = None
    encoding: str = "utf-8"
    column: str | None = None
    format: str | None = None
    storage: Path = STORAGE
