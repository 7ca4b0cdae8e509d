"""``embedsearch train METHOD KEY=VALUE…``: one trial in this process, without Ray."""

from __future__ import annotations

from typer import Exit

from embedsearch.cli import options


def train(
    method: options.Method,
    overrides: options.Overrides = None,
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
    encoding: options.Encoding = "utf-8",
    column: options.Column = None,
    format: options.Format = None,
    storage: options.Storage = options.STORAGE,
    store: options.Store = None,
    json: options.Json = False,
) -> None:
    """Run one trial of a method, at its defaults but for what is given."""
    from embedsearch.cli.options import Choices
    from embedsearch.cli.run import run_one

    choices = Choices(
        method=method, single=True, overrides=overrides or [], preset=preset, backbone=backbone,
        corpus=corpus, dev=dev, steps=steps, eval_steps=eval_steps, pooling=pooling, seed=seed,
        device=device, precision=precision, cpus_per_trial=cpus_per_trial, encoding=encoding,
        column=column, format=format, storage=storage,
    )  # fmt: skip
    raise Exit(run_one(choices, store=store, as_json=json))
