"""Runs the benchmarks and prints one table; each ratio is against a peer in the same run.

    python -m experiments.benchmarks [--only NAME]... [--backbone FOLDER] [--corpus FILE] [--dev …]

Without options the embedded demo is measured; ``--backbone`` adds a second one: a folder (a 6-layer
MiniLM, say), or one with random weights by its size, ``bert-6x768`` or ``t5-6x768``. Run it on a
quiet machine: other load falls on both sides, but not evenly.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from rich.console import Console
from rich.table import Table

from experiments.benchmarks import (
    commands,
    evaluation,
    memory,
    methods,
    mining,
    overhead,
    scale,
    suite,
    training,
    transfer,
)
from experiments.benchmarks.backbone import made
from experiments.benchmarks.row import Inputs, Row

BENCHMARKS: dict[str, Callable[[Inputs], Iterator[Row]]] = {
    "overhead": overhead.rows,
    "scale": scale.rows,
    "training": training.rows,
    "methods": methods.rows,
    "evaluation": evaluation.rows,
    "suite": suite.rows,
    "memory": memory.rows,
    "commands": commands.rows,
    "mining": mining.rows,
    "transfer": transfer.rows,
}


@dataclass(frozen=True)
class Options:
    """What the command line asks for."""

    only: list[str]
    inputs: Inputs


def options() -> Options:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", action="append", choices=BENCHMARKS)
    parser.add_argument("--backbone", help="a second one: a folder, or bert-6x768, t5-6x768 …")
    parser.add_argument("--corpus", default="demo")
    parser.add_argument("--dev", default="demo")
    parser.add_argument("--documents", default="demo", help="of `mining`")
    parser.add_argument("--data", help="folder of evaluation data, of `suite` and `transfer`")
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument(
        "--device", default="cpu", choices=("cpu", "cuda"), help="of `training`, `methods`"
    )
    parser.add_argument("--trials", type=int, default=Inputs.trials, help="of `scale`")
    parser.add_argument("--gpus", type=int, default=Inputs.gpus, help="of `scale`, in name")
    parser.add_argument("--wait", type=float, default=Inputs.wait, help="seconds of its trials")
    given = vars(parser.parse_args())
    return Options(given.pop("only") or list(BENCHMARKS), Inputs(**given))


def main() -> None:
    asked = options()
    table = Table("what", "ours", "peer", "ratio", "goal")
    console = Console()
    with made(asked.inputs.backbone) as backbone:
        inputs = replace(asked.inputs, backbone=backbone)
        for name in asked.only:
            for row in BENCHMARKS[name](inputs):
                console.print(row.line())
                table.add_row(row.what, row.ours, row.peer, row.ratio, row.goal)
    console.print(table)


if __name__ == "__main__":
    main()
