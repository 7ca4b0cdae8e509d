"""``embedsearch evaluate TARGET… --tasks …``: encoders on the papers' tasks."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from typer import Argument, Exit, Option

from embedsearch.cli import options
from embedsearch.errors import UserError


def _list_kinds(wanted: bool) -> None:
    if wanted:
        from embedsearch.evaluation.tasks import KINDS

        for kind in KINDS.values():
            numbers = "".join(f"; task.yaml may have {name}" for name in kind.numbers)
            sys.stdout.write(f"{kind.name:14} {kind.layout}{numbers}\n")
        raise Exit


def evaluate(
    targets: Annotated[
        list[str],
        Argument(metavar="TARGET…", help="Folders, runs:/ID or run ids, nano, hub names."),
    ],
    tasks: Annotated[
        str,
        Option(
            help="papers, quick, kinds (sts), data sets (sts12), KIND:FILE, a task.yaml's folder."
        ),
    ] = "quick",
    data: Annotated[
        Path | None, Option(metavar="FOLDER", help="SentEval's folder, or one that holds all data.")
    ] = None,
    pooling: Annotated[
        str | None,
        Option(help="cls, eos, mean, first_last, top2 or static; the folder's own if none."),
    ] = None,
    device: Annotated[str, Option(help="auto, cpu or cuda.")] = "auto",
    precision: Annotated[str, Option(help="auto, fp32 or bf16.")] = "auto",
    against: Annotated[
        str | None, Option(metavar="PAPER", help="Beside its printed numbers: scd, informin, ….")
    ] = None,
    figures: Annotated[
        Path | None, Option(metavar="FOLDER", help="PNG files of what can be seen.")
    ] = None,
    csv: Annotated[Path | None, Option(metavar="FILE", help="Every score, a row each.")] = None,
    store: options.Store = None,
    json: options.Json = False,
    list_kinds: Annotated[
        bool,
        Option(
            "--list-kinds",
            is_eager=True,
            callback=_list_kinds,
            help="Say how files of your own are laid out, a line for each KIND.",
        ),
    ] = False,
) -> None:
    """Score encoders on the papers' tasks, each number by its named protocol.

    Each task goes on record as it ends. What is known of an encoder, embeddings and scores, is not
    computed again, so a command that was stopped goes on when it is given again.
    """
    from rich.console import Console

    from embedsearch.cli.examination import Examiner
    from embedsearch.durable import write_text
    from embedsearch.report.against_table import show_against
    from embedsearch.report.scores import show_scores, to_csv
    from embedsearch.tracking import evaluations
    from embedsearch.tracking.store import Store

    _must_be_writable(figures, csv)
    where = Store.open(store)
    names = [name.strip() for name in tasks.split(",")]
    examiner = Examiner(where, names, data, against, figures is not None)
    opened = [examiner.open(name, pooling, device, precision) for name in targets]
    console, progress = Console(stderr=json, highlight=False, markup=False), Console(stderr=True)
    examined = []
    for one in opened:
        console.print(f"{one.target.name} · {one.opened.said}", soft_wrap=True)
        result = examiner.examine(one, progress)
        if not json:
            show_scores(console, result.found)
            if against:
                show_against(console, result.found["against"])
        if result.failure:
            raise result.failure
        examined.append(result)
    found = [one.found for one in examined]
    if figures:
        drawn = examiner.draw(examined, figures.expanduser())
        for said in map(str, drawn) if drawn else ["none, for none of these tasks has one"]:
            console.print(f"figure: {said}", soft_wrap=True)
    if csv:
        write_text(csv.expanduser(), to_csv(found))
    if json:
        from json import dumps

        whole = {"evaluations": found, "looks": evaluations.looks(where)}
        sys.stdout.write(dumps(whole, indent=1, allow_nan=False, ensure_ascii=False) + "\n")
    else:
        seen = evaluations.looks(where)
        looks = ", ".join(f"{row['name']} {seen[row['name']]}" for row in found[0]["tasks"])
        console.print(f"looks at test data in {where}: {looks}", soft_wrap=True)
    scored = any(s["value"] is not None for f in found for t in f["tasks"] for s in t["scores"])
    raise Exit(0 if scored else 1)


def _must_be_writable(figures: Path | None, csv: Path | None) -> None:
    """Raise ``UserError`` for a file in a folder's place or the other way, before hours of work."""
    if figures and figures.exists() and not figures.is_dir():
        raise UserError(f"--figures {figures} is no folder: name one, or one that is not there yet")
    if csv and csv.is_dir():
        raise UserError(f"--csv {csv} is a folder: name a file")
