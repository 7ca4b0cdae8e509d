"""``embedsearch evaluate TARGET --tasks …``: an encoder on the papers' tasks."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from typer import Argument, Exit, Option

from embedsearch.cli import options


def evaluate(
    target: Annotated[
        str, Argument(metavar="TARGET", help="A folder, runs:/ID or a run id, nano, a hub name.")
    ],
    tasks: Annotated[
        str, Option(help="papers, quick, kinds (sts), data sets (sts12), KIND:FILE, folders.")
    ] = "quick",
    data: Annotated[
        Path | None, Option(metavar="FOLDER", help="SentEval's folder, or one that holds all data.")
    ] = None,
    pooling: Annotated[
        str | None, Option(help="cls, eos, mean, first_last or top2; the folder's own if none.")
    ] = None,
    device: Annotated[str, Option(help="auto, cpu or cuda.")] = "auto",
    precision: Annotated[str, Option(help="auto, fp32 or bf16.")] = "auto",
    against: Annotated[
        str | None, Option(metavar="PAPER", help="Beside its printed numbers: scd, informin, ….")
    ] = None,
    csv: Annotated[Path | None, Option(metavar="FILE", help="Every score, a row each.")] = None,
    store: options.Store = None,
    json: options.Json = False,
) -> None:
    """Score an encoder on the papers' tasks, each number by its named protocol.

    Known embeddings are not computed again. The scores go on record in the store.
    """

    from rich.console import Console

    from embedsearch.cli.examination import examine
    from embedsearch.cli.target import find_target
    from embedsearch.durable import write_text
    from embedsearch.errors import UserError
    from embedsearch.evaluation.subject import open_subject
    from embedsearch.evaluation.suite import Missing, choose
    from embedsearch.report.against import against as beside
    from embedsearch.report.against_table import show_against
    from embedsearch.report.printed import load_printed
    from embedsearch.report.scores import show_scores, to_csv
    from embedsearch.tracking import evaluations
    from embedsearch.tracking.store import Store

    if against:
        load_printed(against)  # a misspelt one before anything is scored
    where = Store.open(store)
    found_target = find_target(target, where)
    chosen = choose([name for name in tasks.split(",") if name], data)
    missing = [item for item in chosen if isinstance(item, Missing)]
    if len(missing) == len(chosen):
        raise UserError(f"no task can run: {missing[0].name}: {missing[0].reason}")
    opened = open_subject(
        found_target.location,
        pooling,
        device=device,
        precision=precision,
        cache_folder=where.storage / "embeddings",
    )
    console = Console(stderr=json)
    said = f"{found_target.name} · {opened.said}"
    console.print(said, soft_wrap=True, markup=False, highlight=False)
    examination = examine(found_target, opened, chosen, Console(stderr=True))
    found = examination.to_json()
    if against:
        compared = beside(against, examination.numbers(), *examination.origin(pooling))
        found["against"] = compared.to_json()
    evaluations.record(where, found, found_target.run_id)
    if csv:
        write_text(csv.expanduser(), to_csv(found))
    if json:
        from json import dumps

        sys.stdout.write(dumps(found, indent=1, allow_nan=False, ensure_ascii=False) + "\n")
    else:
        show_scores(console, found)
        if against:
            show_against(console, found["against"])
        seen = evaluations.looks(where)
        names = [row["name"] for row in found["tasks"]]
        said = ", ".join(f"{name} {seen[name]}" for name in names)
        console.print(f"looks at test data in {where}: {said}", soft_wrap=True, highlight=False)
    scored = any(s["value"] is not None for row in found["tasks"] for s in row["scores"])
    raise Exit(0 if scored else 1)
