"""Sweeps that are broken on purpose: a command that is watched, nodes, and what became of it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from embedsearch.tracking.store import Store

ALPHAS = [0.1, 0.2, 0.3]
SPACE = f"""\
method: embedsearch.methods.scd:SCD
grids:
  all: &all
    values:
      alpha: {ALPHAS}
  same: *all
"""
PRESET = {
    "corpus": "corpus.txt",
    "dev": "dev.tsv",
    "steps": 160,
    "eval_steps": 20,
    "values": {"batch_size": 4, "pooling": "mean"},
    "methods": {"scd": {"values": {"projector_dim": 8}}},
}
OFTEN = """
import sys
from functools import partial
from embedsearch.cli import main, site
site.Place = partial(site.Place, save_s=0)
main(sys.argv[1:])
"""
"""The command as it is, but that a trial keeps a state at each of its evaluations."""
ALONE = f"from tests.here import without_ray\nwithout_ray(){OFTEN}"
"""Without Ray."""
RAY = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0", "RAY_AUTH_MODE": "disabled"}
"""Nodes that are several on this machine, and that nobody reaches from outside of it."""


@dataclass(frozen=True)
class Outcome:
    """What a fault did."""

    lost: int
    """Trials whose score is missing or another than undisturbed."""
    repeated: int
    """Trials that ran twice, or are in the store twice."""
    seconds: float
    """From the fault to the next trial that ended; where the command had to be given again, from
    then on."""


class Command:
    """One run of the sweep, in a process of its own, and when it said what."""

    def __init__(self, folder: Path, *words: str, code: str = OFTEN, grid: str = "all") -> None:
        self.folder = folder
        given = ["sweep", "scd", "--grid", grid, "--preset", "tiny.yaml", "--json"]
        self.begun = time.monotonic()
        self.process = subprocess.Popen(
            [sys.executable, "-c", code, *given, *words],
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
            start_new_session=True,
        )
        self.said: list[tuple[float, str]] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stderr
        for line in self.process.stderr:
            self.said.append((time.monotonic(), line))

    @property
    def text(self) -> str:
        return "".join(line for _, line in self.said)

    def ends(self) -> list[float]:
        """When trials ended, so far."""
        return [at for at, line in self.said if " done, " in line]

    def until(self, ready: Callable[[], Any], patience_s: float = 120) -> Any:
        deadline = time.monotonic() + patience_s
        while not (found := ready()):
            assert self.process.poll() is None and time.monotonic() < deadline, self.text
            time.sleep(0.05)
        return found

    def until_in_midst(self) -> None:
        """A trial has ended, and another one has a state to go on from."""
        self.until(lambda: self.ends() and list(self.folder.rglob("work/*/state")))

    def wait(self, *codes: int) -> dict[str, Any]:
        out = self.process.communicate(timeout=240)[0]
        self._reader.join()
        assert "Traceback" not in self.text, self.text
        assert self.process.returncode in (codes or (0,)), self.text
        return json.loads(out) if out else {}

    def kill(self) -> None:
        """The command itself; what it started ends by itself."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def went_on(self, since: float) -> float:
        """Seconds until the first trial that ended after ``since``."""
        return next((at for at in self.ends() if at > since), time.monotonic()) - since


def scores(told: dict[str, Any]) -> dict[str, Any]:
    """What a sweep's table says of each trial, by spec id."""
    return {t["spec_id"]: [t["score"], t["step"], t["untrained"]] for t in told["ranked"]}


def judge(store: Store, told: dict[str, Any], wanted: dict[str, Any], seconds: float) -> Outcome:
    """Compare a broken sweep with one that was left alone; nothing of it may be running."""
    runs = store.search("scd")
    assert {run.status for run in runs} == {"FINISHED"}, [run.status for run in runs]
    found = scores(told)
    lost = sum(found.get(spec_id) != row for spec_id, row in wanted.items())
    trials = [run for run in runs if "embedsearch.spec_id" in run.tags]
    counts = Counter(run.tags["embedsearch.spec_id"] for run in trials)
    assert set(counts) == set(wanted) == set(found)
    repeated = sum(count - 1 for count in counts.values()) + sum(
        map(_doubled, [store] * 99, trials)
    )
    return Outcome(lost, repeated, seconds)


def _doubled(store: Store, run: Any) -> bool:
    """Whether a run has a number twice for a step, or came to its end twice."""
    histories = {n: store.client.get_metric_history(run.run_id, n) for n in run.metrics}
    doubled = any(len({m.step for m in h}) < len(h) for h in histories.values())
    return doubled or len(histories["best/dev_spearman"]) > 1


def halve(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def workers() -> list[int]:
    """Ray's workers with a trial, of the nodes that this process started."""
    found = []
    for path in Path("/proc").iterdir():
        try:
            of_ours = path.name.isdigit() and MARK.encode() in (path / "environ").read_bytes()
            if of_ours and b"ray::ImplicitFunc" in (path / "cmdline").read_bytes():
                found.append(int(path.name))
        except OSError:
            continue
    return found


MARK = f"EMBEDSEARCH_BREAKAGE={os.getpid()}"


class Nodes:
    """A cluster on this machine: a head that takes no trial, and nodes that come and go."""

    def __init__(self) -> None:
        os.environ.update([MARK.split("=")], **RAY)
        from ray.cluster_utils import Cluster

        missed = {"health_check_initial_delay_ms": 0, "health_check_period_ms": 500}
        missed |= {"health_check_timeout_ms": 2000, "health_check_failure_threshold": 3}
        head = {"num_cpus": 0, "include_dashboard": False, "_system_config": missed, **_MEMORY}
        self.cluster = Cluster(initialize_head=True, head_node_args=head)
        self.held: list[Any] = []

    @property
    def address(self) -> str:
        return str(self.cluster.address)

    def come(self, **size: float) -> None:
        self.held.append(self.cluster.add_node(**{"num_cpus": 1, **size, **_MEMORY}))

    def go(self) -> None:
        """The one that came first, as if it had lost its power."""
        self.cluster.remove_node(self.held.pop(0), allow_graceful=False)

    def end(self) -> None:
        self.cluster.shutdown()


_MEMORY = {"object_store_memory": 80_000_000}
