"""What a large sweep costs its driver, beside Ray Tune alone with the same trials.

Several Ray nodes on this machine with GPUs in name only, and trials that only wait: no side trains
anything. Each side is a process of its own; ours is a whole sweep, with its store and its view. The
peer has no loggers, so it keeps nothing.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from embedsearch.records import Measurement, Sweep, TrialResult, TrialSpec
from embedsearch.sweep import search
from experiments.benchmarks.commands import variant, wall
from experiments.benchmarks.memory import megabytes
from experiments.benchmarks.row import Inputs, Row
from experiments.benchmarks.waiting import Waiting, bare

NODES = 4
REPORTS = 20
RAY = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0", "RAY_AUTH_MODE": "disabled"}
"""Nodes that are several on this machine, and that nobody reaches from outside of it."""
PATIENT = {"worker_register_timeout_seconds": 600}
"""As many workers as GPUs start at once, on the few cores that there are."""


def rows(inputs: Inputs) -> Iterator[Row]:
    """``inputs.trials`` of ``inputs.wait`` seconds each, on ``inputs.gpus``.

    Time and cost are counted from when as many trials run as can: until then a few cores start as
    many workers as there are GPUs, and Tune gives up a worker that starts for one that is free.
    Raises ``CalledProcessError`` where a trial failed.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        alone = _side("bare", inputs, folder)
        ours = _side("ours", inputs, folder)
        yield from _cost(ours, alone, inputs)
        files = [file for file in (folder / "mlruns").rglob("*") if file.is_file()]
        kilobytes = sum(file.stat().st_size for file in files) / 1024
        held, many = f"{kilobytes / inputs.trials:.1f} KB", f"{len(files) / inputs.trials:.1f}"
        yield Row("  a trial in the store", held, f"in {many} files, and none by Tune", "", "")
        for command in (["best", "--method", "scd"], ["compare", "scd"]):
            large = wall(folder, inputs.repeats, *command)
            empty = wall(folder / "empty", inputs.repeats, *command)
            yield Row(
                f"  embedsearch {command[0]} on it",
                f"{large:.2f} s",
                f"{empty:.2f} s on an empty store",
                f"{large - empty:+.2f} s",
                "at most +10 s",
            )


Numbers = Mapping[str, float]


def _cost(ours: Numbers, alone: Numbers, inputs: Inputs) -> Iterator[Row]:
    """What the driver took, on both sides."""

    def row(what: str, unit: str, key: str, per: float = 1, goal: str = "") -> Row:
        mine, its = ours[key] / per, alone[key] / per
        ratio = f"{mine / its:.2f}x" if its > 0 else ""
        return Row(what, f"{mine:.2f} {unit}", f"{its:.2f} {unit} by Tune alone", ratio, goal)

    ideal = inputs.trials * inputs.wait / inputs.gpus
    sizes = f"{inputs.trials:,} trials of {REPORTS} reports and {inputs.wait:g} s"
    what = f"{sizes} on {inputs.gpus} GPUs"
    yield row(what, "s", "wall_s", goal=f"{ideal:.0f} s of waiting")
    yield row("  driver's CPU a report", "ms", "cpu_s", inputs.trials * REPORTS / 1000)
    yield row("  driver's CPU a trial", "ms", "cpu_s", inputs.trials / 1000)
    yield row("    of the first quarter", "ms", "first_cpu_s", 0.001)
    yield row("    of the last quarter", "ms", "last_cpu_s", 0.001)
    yield row("  driver's peak memory", "MB", "peak_mb")
    yield row("    its growth a trial, after the first quarter", "KB", "growth_mb", 1 / 1024)


def _side(side: str, inputs: Inputs, folder: Path) -> Numbers:
    sizes = [str(inputs.trials), str(inputs.gpus), str(inputs.wait)]
    command = [sys.executable, "-m", "experiments.benchmarks.scale", side, str(folder), *sizes]
    with (folder / f"{side}.txt").open("w") as said:
        done = subprocess.run(command, stdout=said, stderr=said, env={**os.environ, **RAY})
    if done.returncode:
        sys.stderr.write((folder / f"{side}.txt").read_text()[-4000:])
    done.check_returncode()
    numbers: Numbers = json.loads((folder / f"{side}.json").read_text())
    return numbers


@dataclass
class _Gauge:
    """Reads the clocks and the memory of this process each time a quarter of the trials has ended;
    an observer for that."""

    trials: int
    gpus: int
    gate: Path
    begun: int = 0
    ended: int = 0
    marks: list[tuple[int, float, float, float]] = field(default_factory=list)
    """Trials, CPU seconds, seconds and megabytes."""

    def mark(self) -> None:
        now = time.process_time(), time.perf_counter(), megabytes("VmRSS")
        self.marks.append((self.ended, *now))

    def begin(self) -> None:
        self.begun += 1
        if self.begun == min(self.gpus, self.trials):
            self.mark()
            self.gate.touch()

    def end(self) -> None:
        self.ended += 1
        if self.ended % max(1, self.trials // 4) == 0 or self.ended == self.trials:
            self.mark()

    def numbers(self) -> Numbers:
        (_, cpu, clock, _), (n, first_cpu, _, first_mb), *_ = self.marks
        (m, before_cpu, _, _), (last, last_cpu, last_clock, last_mb) = self.marks[-2:]
        return {
            "cpu_s": last_cpu - cpu,
            "first_cpu_s": (first_cpu - cpu) / n,
            "last_cpu_s": (last_cpu - before_cpu) / (last - m),
            "wall_s": last_clock - clock,
            "peak_mb": megabytes("VmHWM"),
            "growth_mb": (last_mb - first_mb) / max(1, last - n),
        }

    def sweep_started(self, sweep: Sweep, reused: Mapping[str, TrialResult]) -> None: ...
    def trial_started(self, spec: TrialSpec) -> None:
        self.begin()

    def measured(self, spec: TrialSpec, measurement: Measurement) -> None: ...
    def trial_ended(self, spec: TrialSpec, result: TrialResult) -> None:
        self.end()

    def sweep_ended(self, sweep: Sweep, results: Mapping[str, TrialResult]) -> None: ...


@contextmanager
def _nodes(gpus: int) -> Iterator[str]:
    """The address of a cluster: a head that takes no trial, and nodes that share the GPUs."""
    from ray.cluster_utils import Cluster

    memory = {"object_store_memory": 80_000_000}
    head = {"num_cpus": 0, "include_dashboard": False, "_system_config": PATIENT, **memory}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    try:
        for node in range(NODES):
            share = gpus // NODES + (node < gpus % NODES)
            cluster.add_node(num_cpus=share, num_gpus=share, **memory)
        yield str(cluster.address)
    finally:
        cluster.shutdown()


def _ours(folder: Path, address: str, gauge: _Gauge, seconds: float) -> None:
    """A sweep as the command has it, but for what a trial does. Raises where one failed."""
    from embedsearch.cli.layout import make_job
    from embedsearch.cli.observers import Everyone
    from embedsearch.cli.options import Choices
    from embedsearch.cli.output import Output, ToRun
    from embedsearch.records import Observer
    from embedsearch.tracking.store import Store

    output = Output(Store.open(str(folder / "mlruns")), 5, as_json=False)
    choices = Choices(
        "scd", grid="log", preset="demo", steps=REPORTS, eval_steps=1, device="cuda",
        cpus_per_trial=1, storage=str(folder / ".embedsearch"),
    )  # fmt: skip
    with search.connected(search.Cluster(address)) as resources:
        job = make_job(choices, output.ledger, resources["GPU"], address)
        model, site = job.sweep.specs[0], job.surroundings
        specs = tuple(variant(model, place / gauge.trials) for place in range(gauge.trials))
        job = replace(job, sweep=replace(job.sweep, specs=specs))

        def run(to_run: ToRun, observer: Observer) -> None:
            how: dict[str, Any] = {"meter": job.pursuit.meter, "run": Waiting(seconds, gauge.gate)}
            told = Everyone(observer, gauge)
            search.run_trials(to_run, site.place, site.cluster, told, **how)

        end = output.concluded(job, run, search.trials_at_once(resources, site.cluster))
    output.say(end)
    if len(end.ranked) < gauge.trials:
        raise SystemExit(f"{gauge.trials - len(end.ranked)} trials have no score")


def _bare(folder: Path, address: str, gauge: _Gauge, seconds: float) -> None:
    """The same trials by Ray Tune, as one would write it who keeps nothing."""
    with search.connected(search.Cluster(address)):
        from ray import tune

        class Callback(tune.Callback):  # type: ignore[misc]
            def on_trial_start(self, *_: Any, **__: Any) -> None:
                gauge.begin()

            def on_trial_complete(self, *_: Any, **__: Any) -> None:
                gauge.end()

        alphas = [place / gauge.trials for place in range(gauge.trials)]
        shared = {"steps": REPORTS, "seconds": seconds, "gate": gauge.gate}
        tune.Tuner(
            tune.with_resources(bare, {"CPU": 1, "GPU": 1}),
            param_space={"alpha": tune.grid_search(alphas), **shared},
            tune_config=tune.TuneConfig(reuse_actors=True),
            run_config=tune.RunConfig(
                storage_path=str(folder / "tune"), callbacks=[Callback()], verbose=0
            ),
        ).fit()


def main(side: str, folder: Path, trials: int, gpus: int, seconds: float) -> None:
    gauge = _Gauge(trials, gpus, folder / f"{side}.gate")
    with _nodes(gpus) as address:
        {"ours": _ours, "bare": _bare}[side](folder, address, gauge, seconds)
    (folder / f"{side}.json").write_text(json.dumps(gauge.numbers()))


if __name__ == "__main__":
    asked, where, *sizes = sys.argv[1:]
    main(asked, Path(where), int(sizes[0]), int(sizes[1]), float(sizes[2]))
