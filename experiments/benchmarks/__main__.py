"""Runs the benchmarks and prints one table; each ratio is against a peer in the same run.

    python -m experiments.benchmarks [--only NAME]... [--backbone FOLDER] [--corpus FILE] [--dev …]

Without options the embedded demo is measured; ``--backbone`` adds a second one (a 6-layer MiniLM,
say). Run it on a quiet machine: other load falls on both sides, but not evenly.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

from experiments.benchmarks import (
    commands,
    evaluation,
    memory,
    mining,
    overhead,
    training,
    transfer,
)
from experiments.benchmarks.row import Inputs, Row

BENCHMARKS: dict[str, Callable[[Inputs], Iterator[Row]]] = {
    "overhead": overhead.rows,
    "training": training.rows,
    "evaluation": evaluation.rows,
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
    parser.add_argument("--backbone", help="a second backbone beside the nano")
    parser.add_argument("--corpus", default="demo")
    parser.add_argument("--dev", default="demo")
    parser.add_argument("--documents", default="demo", help="of `mining`")
    parser.add_argument("--data", help="SentEval's downstream folder, of `transfer`")
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"), help="of `training`")
    given = vars(parser.parse_args())
    return Options(given.pop("only") or list(BENCHMARKS), Inputs(**given))


def main() -> None:
    asked = options()
    table = Table("what", "ours", "peer", "ratio", "goal")
    console = Console()
    for name in asked.only:
        for row in BENCHMARKS[name](asked.inputs):
            console.print(row.line())
            table.add_row(row.what, row.ours, row.peer, row.ratio, row.goal)
    console.print(table)


if __name__ == "__main__":
    main()
