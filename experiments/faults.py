"""Kills a sweep over Ray at random moments, gives the same command again, and compares.

    python experiments/faults.py --kills 10 --seed 0

The driver, a worker that runs a trial, or the raylet is killed with -9. A sweep that has ended in
spite of it all is compared with one that was left alone, to the bit, and the next kill meets a
fresh one. Exit code 1 where anything differs, is left running, or ran twice.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from embedsearch.tracking.store import Store

SWEEP = ["scd", "--grid", "coarse", "--preset", "demo", "--steps", "8", "--eval-steps", "4"]
COMMAND = [sys.executable, "-m", "embedsearch.sweep", *SWEEP, "--max-trials", "4", "--json"]
VICTIMS = ("driver", "worker", "raylet")
PATIENCE_S = 240.0
MARK = "EMBEDSEARCH_FAULTS"


@dataclass
class Command:
    """One run of the command, and every process that came of it."""

    folder: Path
    mark: str = ""
    seen: dict[int, str] = field(default_factory=dict)
    """Start times by process id, so that a number that was given anew is not taken for ours."""

    def __post_init__(self) -> None:
        self.mark = f"{os.getpid()}-{time.monotonic_ns()}"
        self.begun = time.monotonic()
        with (
            (self.folder / "said.txt").open("w") as said,
            (self.folder / "out.json").open("w") as out,
        ):
            environment = {**os.environ, MARK: self.mark}
            self.process = subprocess.Popen(
                COMMAND, cwd=self.folder, stdout=out, stderr=said, env=environment,
                start_new_session=True,
            )  # fmt: skip

    def processes(self) -> dict[int, str]:
        """The living ones, with what each calls itself."""
        found = {}
        for path in Path("/proc").iterdir():
            if path.name.isdigit() and (status := _status(path)):
                pid, (parent, started) = int(path.name), status
                ours = self.seen.get(pid) == started or parent in self.seen
                if ours or f"{MARK}={self.mark}".encode() in _read(path / "environ"):
                    self.seen[pid] = started
                    found[pid] = (
                        _read(path / "cmdline").replace(b"\0", b" ").decode(errors="replace")
                    )
        return found

    def kill(self, victim: str, after_s: float) -> float | None:
        """Kill ``victim`` so many seconds after the start, or as soon as there is one.

        Gives the second it happened at; None where the command ended before.
        """
        while self.process.poll() is None:
            found = self.processes()
            now = time.monotonic() - self.begun
            if now >= after_s and (pids := self._victims(victim, found)):
                os.kill(pids[0], signal.SIGKILL)
                return now
            time.sleep(0.05)
        return None

    def _victims(self, victim: str, found: dict[int, str]) -> list[int]:
        if victim == "driver":
            return [self.process.pid]
        sign = "ray::ImplicitFunc" if victim == "worker" else "/raylet/raylet "
        return [pid for pid, title in found.items() if sign in title]

    def outlived_s(self) -> float:
        """Seconds until the last process is gone, once the command itself has ended."""
        begun = time.monotonic()
        while self.processes() and time.monotonic() - begun < PATIENCE_S:
            time.sleep(0.5)
        return time.monotonic() - begun


def _status(path: Path) -> tuple[int, str] | None:
    """Parent and start time; None for one that is gone or is a zombie."""
    words = _read(path / "stat").rpartition(b") ")[2].split()
    return None if not words or words[0] == b"Z" else (int(words[1]), words[19].decode())


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def outcome(folder: Path) -> Any:
    """What a finished sweep printed, but for places and clocks."""
    told = json.loads((folder / "out.json").read_text())
    trials = [{k: t[k] for k in ("spec_id", "score", "step", "untrained")} for t in told["ranked"]]
    return [told["trials"], told["failures"], told["ties"], trials]


def results(folder: Path) -> dict[str, tuple[int, int]]:
    """The finished trials' result files: replaced ones would be others."""
    files = folder.glob(".embedsearch/work/*/result.json")
    return {f.parent.name: (f.stat().st_ino, f.stat().st_mtime_ns) for f in files}


def faults(folder: Path, wanted: Any, finished: dict[str, tuple[int, int]]) -> list[str]:
    """What is wrong with a sweep that ended after kills."""
    wrong = [] if outcome(folder) == wanted else ["its results differ"]
    now = results(folder)
    wrong += [f"{spec} ran twice" for spec, file in finished.items() if now.get(spec) != file]
    store = Store.open(str(folder / "mlruns"))
    found = store.search("scd")
    wrong += [f"{run.run_id} is running" for run in found if run.status == "RUNNING"]
    ids = Counter(run.tags.get("embedsearch.spec_id", "sweep") for run in found)
    wrong += [f"{spec} has {count} runs" for spec, count in ids.items() if count > 1]
    for run in found:
        for name in run.metrics:
            steps = Counter(m.step for m in store.client.get_metric_history(run.run_id, name))
            attempts = len(steps) if name == "seconds" else 1
            if max(steps.values()) > 1 or attempts > 1:
                wrong.append(f"{run.run_id} has {name} twice")
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", type=Path, help="work here, and leave everything there")
    given = parser.parse_args()
    if given.folder:
        given.folder.mkdir(parents=True, exist_ok=True)
        return run(given.folder.resolve(), given.kills, random.Random(given.seed))
    with tempfile.TemporaryDirectory(prefix="faults-") as base:
        return run(Path(base), given.kills, random.Random(given.seed))


def run(base: Path, kills: int, chance: random.Random) -> int:
    alone = _fresh(base / "alone")
    command = Command(alone)
    if command.process.wait() != 0:
        sys.exit((alone / "said.txt").read_text())
    length_s, wanted = time.monotonic() - command.begun, outcome(alone)
    print(f"left alone: {length_s:.0f} s\n\nkill victim   at s  code  finished  processes left")
    order = [VICTIMS[number % len(VICTIMS)] for number in range(kills)]
    chance.shuffle(order)
    with ThreadPoolExecutor() as watch:
        wrong, gone = _kill_each(base / "killed", order, length_s, chance, wanted, watch)
        longest_s = max((future.result() for future in gone), default=0.0)
    print(f"\nall processes were gone {longest_s:.0f} s after their command at the latest")
    if longest_s >= PATIENCE_S:
        wrong.append("processes stay")
    print("\n".join(wrong) or "Nothing differs, nothing is left running, nothing ran twice.")
    return 1 if wrong else 0


def _kill_each(
    base: Path, victims: list[str], length_s: float, chance: random.Random, wanted: Any,
    watch: ThreadPoolExecutor,
) -> tuple[list[str], list[Future[float]]]:  # fmt: skip
    """What is wrong; and how long each command's processes outlived it, when that is known."""
    wrong: list[str] = []
    gone: list[Future[float]] = []
    waiting, sweeps, under_way = list(victims), 0, False
    finished: dict[str, tuple[int, int]] = {}
    while waiting or under_way:
        if not under_way:
            folder, finished, sweeps = _fresh(base / str(sweeps)), {}, sweeps + 1
        under_way = True
        command = Command(folder)
        at_s = command.kill(waiting[0], chance.uniform(1, length_s)) if waiting else None
        code = _wait(command)
        said = (folder / "said.txt").read_text()
        if at_s is not None:
            finished = {**results(folder), **finished}
            row = f"{len(victims) - len(waiting) + 1:4} {waiting.pop(0):7} {at_s:6.1f} {code:5}"
            print(f"{row} {len(finished):9}  {len(command.processes()):5}", flush=True)
            gone.append(watch.submit(command.outlived_s))
        if "Traceback" in said:
            wrong.append(said[-3000:])
        if code == 0:
            wrong += faults(folder, wanted, finished)
            under_way = False
        elif at_s is None:
            wrong.append(f"exit code {code} without a kill: {said[-500:]}")
            break
    return wrong, gone


def _wait(command: Command) -> int:
    try:
        return command.process.wait(PATIENCE_S)
    except subprocess.TimeoutExpired:
        command.process.kill()
        command.process.wait()
        return 999


def _fresh(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


if __name__ == "__main__":
    sys.exit(main())
