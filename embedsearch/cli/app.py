"""The Typer app with every command."""

from __future__ import annotations

import typer

from embedsearch.cli.best import best
from embedsearch.cli.compare import compare
from embedsearch.cli.confirm import confirm
from embedsearch.cli.evaluate import evaluate
from embedsearch.cli.experiment import run
from embedsearch.cli.plan import plan
from embedsearch.cli.snapshot import snapshot
from embedsearch.cli.sweep import sweep
from embedsearch.cli.train import train
from embedsearch.cli.ui import ui

app = typer.Typer(
    help="Find, and prove, the best unsupervised sentence-embedding method and hyperparameters.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
for command in (sweep, plan, train, run, confirm, compare, best, evaluate, ui, snapshot):
    app.command()(command)
