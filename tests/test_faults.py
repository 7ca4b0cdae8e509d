"""Stopped at every moment in turn and run again, a trial, a ledger and a sweep end the same."""

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import make_point
from tests.faults import (
    STOPPED,
    WAYS,
    Stop,
    contents,
    in_a_process,
    leftovers,
    store_picture,
    without_clocks,
)
from tests.tracking.conftest import (
    checkpoint,
    fresh_database,
    make_result,
    make_spec,
    make_sweep,
    store,
    store_at,
)

__all__ = ["checkpoint", "fresh_database", "store", "store_at"]

Make = Callable[..., Any]
Job = Callable[[Path, int, str], None]


part_and_all = pytest.mark.parametrize(
    "every", [24, pytest.param(1, marks=[pytest.mark.slow, pytest.mark.timeout(3600)])]
)
"""At each moment takes minutes; the default run stops at some of them."""


def trial_job(folder: Path, number: int, how: str) -> None:
    """The trial of ``spec.json``; at ``number`` 0 its result and encoder are told."""
    from embedsearch import trial
    from embedsearch.place import Place
    from embedsearch.records import TrialSpec

    spec = TrialSpec.from_json(json.loads((folder.parent / "spec.json").read_text()))
    place = Place(folder / "storage", save_s=0)
    stop = Stop(folder, number, how)
    result = trial.run(spec, place, lambda _: None)
    assert result.checkpoint
    checkpoint = contents(Path(result.checkpoint))
    tell(folder, stop, without_clocks({**result.to_json(), "checkpoint": checkpoint}))


def ledger_job(folder: Path, number: int, how: str) -> None:
    """A sweep of two made-up trials, one of which has a checkpoint; known ones are reused."""
    from embedsearch.records import Status
    from embedsearch.tracking.ledger import StoreLedger
    from embedsearch.tracking.store import Store
    from embedsearch.tracking.writer import Writer

    specs = [make_spec(0.1), make_spec(0.2), make_spec(0.3)]
    kept = {"checkpoint": str(folder.parent / "work" / "best")}
    results = {spec.id: make_result(spec, 60.0 + i, **kept) for i, spec in enumerate(specs[:2])}
    results[specs[2].id] = make_result(specs[2], None, Status.DIVERGED, reason="NaN at step 3")
    store = Store.open(str(folder / "mlruns"))
    stop = Stop(folder, number, how)
    held = StoreLedger(store).results(specs)
    writer, sweep = Writer(store, keep=1), make_sweep(*specs)
    writer.sweep_started(sweep, held)
    for spec in specs:
        if spec.id not in held:
            writer.trial_started(spec)
            for measurement in results[spec.id].history:
                writer.measured(spec, measurement)
            writer.trial_ended(spec, results[spec.id])
    writer.sweep_ended(sweep, results)
    tell(folder, stop, store_picture(folder / "mlruns"))


def opening_job(folder: Path, number: int, how: str) -> None:
    """The first opening of a store, which makes its tables."""
    from embedsearch.tracking.store import Store

    store, stop = Store.open(str(folder / "mlruns")), Stop(folder, number, how)
    with store.writing():
        store.experiment("scd")
    tell(folder, stop, store_picture(folder / "mlruns"))


def sweep_job(folder: Path, number: int, how: str) -> None:
    """The sweep command as it is, but that its trials run here instead of over Ray."""
    from embedsearch.cli import main, site
    from tests.here import without_ray

    without_ray()
    vars(site)["Place"] = partial(site.Place, save_s=0)
    stop = Stop(folder, number, how)
    preset = str(folder.parent / "tiny.yaml")
    with pytest.raises(SystemExit) as end:
        main(["sweep", "scd", "--preset", preset, "--max-trials", "2", "--keep", "1"])
    assert end.value.code == 0
    unstored = [str(path.relative_to(folder)) for path in folder.rglob("best")]
    tell(folder, stop, [store_picture(folder / "mlruns"), unstored])


def tell(folder: Path, stop: Stop, ended: Any) -> None:
    (folder / "told.json").write_text(json.dumps({"moments": stop.seen, "ended": ended}))


def told(folder: Path) -> Any:
    path = folder / "told.json"
    return json.loads(path.read_text()) if path.exists() else {}


def stop_everywhere(job: Job, tmp_path: Path, prepare: Make, every: int = 1) -> int:
    """Stop ``job`` at each moment in each way, run it again and compare; how many there are."""

    def run(name: str, number: int, how: str) -> Path:
        folder = tmp_path / name
        if not folder.exists():
            prepare(folder)
        code = in_a_process(job, folder, number, how)
        assert code in (0, STOPPED), (folder / "said.txt").read_text()
        return folder

    def stopped_and_again(number: int, how: str) -> str:
        """What is wrong then; empty when nothing is."""
        folder = run(f"{number}-{how}", number, how)
        if told(folder):
            return f"moment {number} never came"
        run(folder.name, 0, "")
        if told(folder).get("ended") != whole["ended"]:
            return f"stopped {how} moment {number}: {difference(told(folder)['ended'])}"
        left = leftovers(folder)
        return f"stopped {how} moment {number} it leaves {left}" if left else ""

    def difference(ended: Any) -> str:
        """Where it first shows in the text of both."""
        mine, wanted = json.dumps(ended), json.dumps(whole["ended"])
        same = takewhile(lambda pair: pair[0] == pair[1], zip(mine, wanted, strict=False))
        start = max(0, len(list(same)) - 40)
        return f"…{mine[start : start + 120]}… and not …{wanted[start : start + 120]}…"

    whole = told(run("whole", 0, ""))
    moments = list(enumerate(whole["moments"], start=1))[::every]
    cases = [(number, how) for number, kind in moments for how in WAYS[kind]]
    with ThreadPoolExecutor(2) as both:
        wrong = list(filter(None, both.map(lambda case: stopped_and_again(*case), cases)))
    assert not wrong, "\n".join(wrong)
    return len(whole["moments"])


@part_and_all
def test_a_trial_stopped_anywhere(every: int, make_setting: Make, tmp_path: Path) -> None:
    spec = make_setting(steps=6).spec(make_point())
    (tmp_path / "spec.json").write_text(json.dumps(spec.to_json()))
    assert stop_everywhere(trial_job, tmp_path, lambda path: path.mkdir(), every // 3 or 1) > 8


@part_and_all
def test_a_ledger_stopped_anywhere(
    every: int, store_at: Make, checkpoint: Path, tmp_path: Path
) -> None:
    def prepare(path: Path) -> None:
        store_at(path / "mlruns")

    assert stop_everywhere(ledger_job, tmp_path, prepare, every) > 20


def test_a_store_stopped_while_it_is_made(tmp_path: Path) -> None:
    """MLflow can't go on from half its tables."""
    assert stop_everywhere(opening_job, tmp_path, lambda path: path.mkdir(), every=20) > 20


@part_and_all
def test_a_sweep_stopped_anywhere(
    every: int, make_setting: Make, store_at: Make, tmp_path: Path
) -> None:
    preset = {
        "backbone": make_setting().backbone.location,
        "corpus": str(tmp_path / "corpus.txt"),
        "dev": str(tmp_path / "dev.tsv"),
        "steps": 4,
        "eval_steps": 2,
        "values": {"batch_size": 4, "pooling": "mean"},
        "methods": {"scd": {"values": {"projector_dim": 8}}},
    }
    (tmp_path / "tiny.yaml").write_text(json.dumps(preset))

    def prepare(path: Path) -> None:
        store_at(path / "mlruns")

    assert stop_everywhere(sweep_job, tmp_path, prepare, every) > 40
