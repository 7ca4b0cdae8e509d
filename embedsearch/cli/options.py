"""What a command line can say of its trials, said once for all commands."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields, replace
from typing import Annotated, Any, TypeVar, get_type_hints

from typer import Argument, Option

from embedsearch.errors import UserError

T = TypeVar("T")
C = TypeVar("C", bound="SettingChoices")

Store = Annotated[str | None, Option(metavar="URI", help="MLflow store; mlruns/mlflow.db if none.")]
Json = Annotated[bool, Option("--json", help="One JSON object instead of text.")]
Address = Annotated[str | None, Option(help="Of a running Ray cluster; this machine if none.")]
TrialsPerGpu = Annotated[int | None, Option(min=1, help="Trials that share a GPU.")]

Keep = Annotated[str, Option(help="Checkpoints the store keeps: a number, or all.")]


@dataclass(frozen=True, kw_only=True)
class SettingChoices:
    """What a command says of where, on what and how long its trials run, whatever they are.

    None where it says nothing. Each field is an option.
    """

    max_trials: Annotated[int | None, Option(min=1, help="At most so many points.")] = None
    preset: Annotated[str | None, Option(help="demo, paper, or a YAML file of your own.")] = None
    backbone: Annotated[
        str | None,
        Option(metavar="NAME|FOLDER|FILE", help="nano, a hub name, a folder, word vectors."),
    ] = None
    corpus: Annotated[
        str | None, Option(metavar="FILE|hf:…", help="Sentences to train on, or documents.")
    ] = None
    dev: Annotated[
        str | None, Option(metavar="FILE|FOLDER|hf:…", help="Scored pairs to select on.")
    ] = None
    select: Annotated[
        str | None, Option(metavar="NAME", help="Select on this test set, which is refused else.")
    ] = None
    steps: Annotated[int | None, Option(min=1, help="Optimiser steps a trial.")] = None
    eval_steps: Annotated[int | None, Option(min=1, help="Steps between dev scores.")] = None
    seed: Annotated[int | None, Option(min=0, help="Of every trial.")] = None
    device: Annotated[str | None, Option(help="auto, cpu or cuda.")] = None
    precision: Annotated[str | None, Option(help="auto, fp32 or bf16.")] = None
    cpus_per_trial: Annotated[int | None, Option(min=1, help="CPU threads a trial.")] = None
    gpus_per_trial: Annotated[
        float | None, Option(min=0, help="GPUs a trial: a part of one, or several for each batch.")
    ] = None
    chunk_size: Annotated[
        int | None, Option(min=1, help="Rows encoded at once, where a batch does not fit.")
    ] = None
    encoding: Annotated[str, Option(help="Of the corpus file.")] = "utf-8"
    column: Annotated[str | None, Option(help="Of the sentences, in a table or JSON Lines.")] = None
    format: Annotated[
        str | None, Option(help="Of the corpus: text, jsonl, csv, tsv, parquet; found if none.")
    ] = None
    storage: Annotated[
        str | None,
        Option(
            metavar="FOLDER|s3://…|gs://…",
            help="Work in progress and caches, for all nodes; .embedsearch by the store if none.",
        ),
    ] = None


@dataclass(frozen=True)
class Choices(SettingChoices):
    """And of what they are: points of one method."""

    method: Annotated[str, Argument(help="scd, simcse, frozen, or a space of your own.")]
    overrides: Annotated[
        list[str] | None, Argument(metavar="KEY=VALUE", help="Hyperparameters, over all else.")
    ] = None
    grid: Annotated[
        str | None, Option(help="A named part of the method's search space; its first if none.")
    ] = None
    around: Annotated[str | None, Option(metavar="RUN_ID", help="Centre of a fine grid.")] = None
    pooling: Annotated[
        str | None, Option(help="cls, eos, mean, first_last, top2; frozen: static.")
    ] = None
    search: Annotated[
        str, Option(help="grid, random, or Optuna's tpe, gp, cmaes, … over the same space.")
    ] = "grid"
    stop: Annotated[
        str, Option(help="Early, by rungs of steps: asha, hyperband, median, topk[=N]; none.")
    ] = "none"
    budget: Annotated[
        str | None, Option(metavar="200trials|2h|40gpu-h", help="What the sweep may cost.")
    ] = None
    search_seed: Annotated[int, Option(min=0, help="Of what is proposed; not the trials'.")] = 0
    cold: Annotated[
        bool, Option("--cold", help="A searcher that knows no earlier trial and no paper.")
    ] = False
    single: bool = False
    """One trial at the method's defaults, no grid. Not an option: the command decides."""


def choosing(*without: str) -> Callable[[Callable[..., T]], Callable[..., T]]:
    """Give a command the options of its first argument's class but for some, and that argument.

    Typer reads a command's options off its signature, so that signature is made here.
    """

    def decorate(command: Callable[..., T]) -> Callable[..., T]:
        first, *own = inspect.signature(command).parameters.values()
        own_hints = get_type_hints(command, include_extras=True)
        choices = own_hints[first.name]
        hints = get_type_hints(choices, include_extras=True)
        options = sorted(
            fields(choices), key=lambda f: bool(f.kw_only)
        )  # what is to run comes first
        shared = [f for f in options if f.name not in {*without, "single"}]

        def run(**given: Any) -> T:
            chosen = {f.name: given.pop(f.name) for f in shared}
            return command(choices(**chosen), **given)

        parameters = [
            *(_parameter(f.name, hints[f.name], f.default) for f in shared),
            *(_parameter(p.name, own_hints[p.name], p.default) for p in own),
        ]
        run.__name__, run.__doc__ = command.__name__, command.__doc__
        run.__annotations__ = {p.name: p.annotation for p in parameters}
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        return run

    return decorate


def sharing(choices: C, trials_per_gpu: int | None) -> C:
    """``choices`` with so many trials on a GPU, where that is said."""
    if trials_per_gpu is None:
        return choices
    if choices.gpus_per_trial is not None:
        raise UserError("--gpus-per-trial and --trials-per-gpu say the same: give one of them")
    return replace(choices, gpus_per_trial=1 / trials_per_gpu)


def _parameter(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    empty = inspect.Parameter.empty
    kind = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(
        name, kind, annotation=annotation, default=empty if default is MISSING else default
    )
