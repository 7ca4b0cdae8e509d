"""``embedsearch sweep METHOD --grid G``: a grid's trials over the cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from typer import Exit, Option

from embedsearch.cli import options

if TYPE_CHECKING:
    pass


def sweep(
    method: options.Method,
    overrides: options.Overrides = None,
    grid: options.Grid = None,
    max_trials: options.MaxTrials = None,
    around: options.Around = None,
    preset: options.Preset = None,
    backbone: options.Backbone = None,
    corpus: options.Corpus = None,
    dev: options.Dev = None,
    steps: options.Steps = None,
    eval_steps: options.EvalSteps = None,
    pooling: options.Pooling = None,
    seed: options.Seed = None,
    device: options.Device = None,
    precision: options.Precision = None,
    address: Annotated[str | None, Option(help="Of a Ray cluster; none runs on this one.")] = None,
    cpus_per_trial: options.CpusPerTrial = None,
    gpus_per_trial: options.GpusPerTrial = None,
    trials_per_gpu: Annotated[int | None, Option(min=1, help="Trials that share a GPU.")] = None,
    encoding: options.Encoding = "utf-8",
    column: options.Column = None,
    format: options.Format = None,
    storage: options.Storage = options.STORAGE,
    store: options.Store = None,
    keep: Annotated[str, Option(help="Checkpoints the store keeps: a number, or all.")] = "5",
    json: options.Json = False,
) -> None:
    """Run a grid of a method's search space, or go on with it: finished trials are not run again.

    Give the same command again after any stop.
    """
    from embedsearch.cli.options import Choices
    from embedsearch.cli.run import run_sweep
    from embedsearch.errors import UserError

    if trials_per_gpu is not None:
        if gpus_per_trial is not None:
            raise UserError("--gpus-per-trial and --trials-per-gpu say the same: give one of them")
        gpus_per_trial = 1 / trials_per_gpu
    choices = Choices(
        method=method, overrides=overrides or [], grid=grid, max_trials=max_trials, around=around,
        preset=preset, backbone=backbone, corpus=corpus, dev=dev, steps=steps,
        eval_steps=eval_steps, pooling=pooling, seed=seed, device=device, precision=precision,
        cpus_per_trial=cpus_per_trial, gpus_per_trial=gpus_per_trial, encoding=encoding,
        column=column, format=format, storage=storage,
    )  # fmt: skip
    raise Exit(run_sweep(choices, address=address, store=store, keep=keep, as_json=json))
