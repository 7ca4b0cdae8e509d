"""``embedsearch plan METHOD --grid G``: what a sweep would run, and what it would cost."""

from __future__ import annotations

from typer import Exit

from embedsearch.cli import options


def plan(
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
    cpus_per_trial: options.CpusPerTrial = None,
    gpus_per_trial: options.GpusPerTrial = None,
    encoding: options.Encoding = "utf-8",
    column: options.Column = None,
    format: options.Format = None,
    storage: options.Storage = options.STORAGE,
    store: options.Store = None,
) -> None:
    """Print a grid's trials, which of them are done, and what the rest will cost; run nothing."""
    from embedsearch.cli.options import Choices
    from embedsearch.cli.outlook import show_plan

    choices = Choices(
        method=method, overrides=overrides or [], grid=grid, max_trials=max_trials, around=around,
        preset=preset, backbone=backbone, corpus=corpus, dev=dev, steps=steps,
        eval_steps=eval_steps, pooling=pooling, seed=seed, device=device, precision=precision,
        cpus_per_trial=cpus_per_trial, gpus_per_trial=gpus_per_trial, encoding=encoding,
        column=column, format=format, storage=storage,
    )  # fmt: skip
    show_plan(choices, store)
    raise Exit(0)
