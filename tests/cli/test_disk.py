"""Folders that can not be written, are full, or have odd names: work, or one sentence."""

import json
import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from embedsearch.records import TrialSpec
from embedsearch.sweep import search
from embedsearch.tracking.store import Store
from tests import here
from tests.cli.test_commands import run

__all__ = ["run"]

Run = Callable[..., tuple[int, str, str]]
Mount = Callable[..., None]
TRAIN = ("train", "scd", "--preset", "tiny.yaml", "--json")


@pytest.fixture
def mount() -> Iterator[Mount]:
    """Mounts on a folder until the test ends; skips where that is not permitted."""
    mounted: list[Path] = []

    def do(folder: Path, *words: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        done = subprocess.run(["mount", *words, str(folder)], capture_output=True, text=True)
        if done.returncode:
            pytest.skip(f"mounting is not permitted here: {done.stderr.strip()}")
        if "remount" not in words[1]:
            mounted.append(folder)

    yield do
    for folder in mounted:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def read_only(mount: Mount, folder: Path) -> None:
    mount(folder, "--bind", str(folder))
    mount(folder, "-o", "remount,ro,bind")


def small(mount: Mount, folder: Path, kib: int) -> None:
    mount(folder, "-t", "tmpfs", "-o", f"size={kib}k", "tmpfs")


def one_sentence(err: str) -> str:
    assert "Traceback" not in err, err
    said = err.splitlines()[-1]
    assert said.startswith("error: "), err
    return said


def best_of(out: str) -> tuple[str, float]:
    best = json.loads(out)["best"]
    return best["spec_id"], best["score"]


def test_a_read_only_store_is_read_and_not_written(run: Run, mount: Mount, tmp_path: Path) -> None:
    first = best_of(run(*TRAIN)[1])
    read_only(mount, tmp_path / "mlruns")
    code, _, err = run(*TRAIN, "alpha=0.3")
    assert code == 2 and "--store" in one_sentence(err)
    code, out, err = run("best", "--method", "scd", "--json")
    assert code == 0, err
    assert json.loads(out)["best"][0]["score"] == first[1]


def test_read_only_storage_is_one_sentence(run: Run, mount: Mount, tmp_path: Path) -> None:
    first = best_of(run(*TRAIN)[1])
    read_only(mount, tmp_path / ".embedsearch")
    code, _, err = run(*TRAIN, "alpha=0.3")
    assert code in (1, 2) and "Traceback" not in err and "ead-only" in err
    code, out, err = run("best", "--method", "scd", "--json")
    assert json.loads(out)["best"][0]["score"] == first[1], err


def test_full_storage_fails_the_trial_and_room_mends_it(
    run: Run, mount: Mount, tmp_path: Path
) -> None:
    small(mount, tmp_path / "work", 700)
    command = (*TRAIN, "--storage", str(tmp_path / "work"))
    code, out, err = run(*command)
    assert code == 1 and "Traceback" not in err, err
    [reason] = json.loads(out)["failures"]
    assert "No space left on device" in reason
    mount(tmp_path / "work", "-o", "remount,size=50m")
    code, out, err = run(*command)
    assert code == 0, err
    assert best_of(out) == best_of(run(*TRAIN, "--store", str(tmp_path / "other"))[1])


def test_full_storage_ends_a_sweep_with_all_that_is_finished(
    run: Run, mount: Mount, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[str] = []

    def run_trials(specs: list[TrialSpec], *where: Any, **how: Any) -> None:
        for spec in specs:
            started.append(spec.id)
            here.run_trials([spec], *where, **how)
            if len(started) == 1:
                with suppress(OSError), (tmp_path / "work" / "filler").open("wb") as filler:
                    filler.write(bytes(60_000_000))

    for name, replaced in {**here.REPLACED, "run_trials": run_trials}.items():
        monkeypatch.setitem(vars(search), name, replaced)
    small(mount, tmp_path / "work", 50_000)
    words = ("sweep", "scd", "--preset", "tiny.yaml", "--max-trials", "4", "--json")
    command = (*words, "--storage", str(tmp_path / "work"))
    code, out, err = run(*command)
    assert (code, len(started), out) == (2, 2, ""), err
    assert "No space left on device" in one_sentence(err) and "give the same command" in err
    (tmp_path / "work" / "filler").unlink()
    code, out, err = run(*command)
    assert code == 0 and "1 known, 3 to run" in err, err
    assert len(json.loads(out)["ranked"]) == 4
    assert {found.status for found in Store.open("mlruns").search("scd")} == {"FINISHED"}


def test_a_full_store_is_one_sentence_and_room_mends_it(
    run: Run, mount: Mount, tmp_path: Path
) -> None:
    small(mount, tmp_path / "mlruns", 20_000)
    command = (*TRAIN, "--storage", str(tmp_path / "work"))
    first = best_of(run(*command)[1])
    used = sum(path.stat().st_size for path in (tmp_path / "mlruns").rglob("*") if path.is_file())
    mount(tmp_path / "mlruns", "-o", f"remount,size={used // 1024 + 100}k")
    code, _, err = run(*command, "alpha=0.3")
    assert code in (1, 2), err
    assert one_sentence(err)
    mount(tmp_path / "mlruns", "-o", "remount,size=20m")
    code, out, err = run(*command, "alpha=0.3")
    assert code == 0, err
    found = json.loads(run("best", "--method", "scd", "--top", "2", "--json")[1])
    assert {entry["score"] for entry in found["best"]} == {first[1], best_of(out)[1]}


@pytest.mark.parametrize("name", ["two words", "a#b", "50%", "%20", "Ω-日本", "it's"])
def test_odd_names_of_store_and_storage(name: str, run: Run, tmp_path: Path) -> None:
    places = ("--store", str(tmp_path / name / "runs"), "--storage", str(tmp_path / name / "work"))
    code, out, err = run(*TRAIN, *places)
    assert code == 0, err
    assert Path(json.loads(out)["best"]["checkpoint"], "modules.json").is_file()
    assert "1 known, 0 to run" in run(*TRAIN, *places)[2]
    assert not (tmp_path / "mlruns").exists() and not (tmp_path / ".embedsearch").exists()
