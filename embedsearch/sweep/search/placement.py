"""What a cluster's nodes can hold, and a watch over trials that none of them takes."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import floor
from typing import Any

from embedsearch.errors import UserError

Amounts = Mapping[str, float]
"""By kind: ``CPU``, ``GPU``."""


@dataclass(frozen=True)
class Patience:
    """How long a sweep waits while no trial runs and none can start."""

    notice_s: float = 60.0
    """Before it is said; then again after twice as long, four times as long, …"""
    absent_s: float = 600.0
    """For a node that could hold a trial at all: an autoscaler may bring one."""
    busy_s: float = 12 * 3600.0
    """For nodes that could, and that something else holds."""


PATIENCE = Patience()


@dataclass(frozen=True)
class Nodes:
    """What each living node has, and what of all of them nobody holds."""

    sizes: Sequence[Amounts]
    free: Amounts

    @classmethod
    def now(cls) -> Nodes:
        """Of the connected cluster."""
        import ray

        return cls([n["Resources"] for n in ray.nodes() if n["Alive"]], ray.available_resources())

    def lacking(self, wanted: Amounts, processes: int = 1) -> str:
        """What no node has of ``wanted``, which each of so many processes holds, or how few of them
        there is room for; empty where the nodes could hold all of them."""
        if room := sum(slots(size, wanted) for size in self.sizes):
            short_of = f"the nodes have room for {room} of its {processes} processes"
            return short_of if room < processes else ""
        most = {kind: max((s.get(kind, 0.0) for s in self.sizes), default=0.0) for kind in wanted}
        short = [kind for kind in wanted if most[kind] < wanted[kind]]
        if not short:
            return f"no node has {amounts(wanted)} together"
        missing = amounts({kind: wanted[kind] for kind in short})
        return f"no node has {missing} (at most {amounts({k: most[k] for k in short})})"

    def held(self, wanted: Amounts) -> str:
        """What is free of what there is, where a node could hold it all."""
        parts = [
            f"{self.free.get(kind, 0.0):g} of {sum(s.get(kind, 0.0) for s in self.sizes):g} {kind}"
            for kind in wanted
        ]
        return f"{' and '.join(parts)} are free (another job has the rest, or a worker is starting)"


def slots(size: Amounts, wanted: Amounts) -> int:
    """How many processes that want so much fit into one node."""
    return min(floor(size.get(kind, 0.0) / n + 1e-9) for kind, n in wanted.items())


def amounts(wanted: Amounts) -> str:
    """``1 CPU and 4 GPU``."""
    return " and ".join(f"{n:g} {kind}" for kind, n in wanted.items())


class Watch:
    """Says which resource is missing while no trial can be placed, and gives up in the end.

    ``wanted``: what each of a trial's ``processes`` holds.
    """

    def __init__(
        self,
        wanted: Amounts,
        processes: int,
        patience: Patience,
        nodes: Callable[[], Nodes] = Nodes.now,
        say: Callable[[str], object] = lambda text: sys.stderr.write(f"{text}\n"),
    ) -> None:
        self._wanted, self._processes = wanted, processes
        self._patience, self._nodes, self._say = patience, nodes, say
        self._progressed()

    def look(self, running: bool) -> None:
        """Call it often, with whether any trial runs.

        Raises ``UserError`` once none could be placed for as long as ``Patience`` says.
        """
        if running:
            self._progressed()
            return
        waited_s = time.monotonic() - self._since
        if waited_s < self._looks * self._patience.notice_s:
            return
        self._judge(self._nodes(), waited_s)
        self._looks += 1

    def _progressed(self) -> None:
        self._since = self._fitting = time.monotonic()
        self._looks = 1

    def _judge(self, nodes: Nodes, waited_s: float) -> None:
        lacking, now = nodes.lacking(self._wanted, self._processes), time.monotonic()
        self._fitting = self._fitting if lacking else now
        why = lacking or nodes.held(self._wanted)
        each = f"{self._processes} processes of " if self._processes > 1 else ""
        each += amounts(self._wanted)
        text = f"for {waited_s:.0f} s no trial has started: each wants {each}, and {why}"
        if now - self._fitting >= self._patience.absent_s or waited_s >= self._patience.busy_s:
            raise UserError(
                f"{text}; give nodes that have it, or lower --cpus-per-trial or --gpus-per-trial, "
                "and give the same command again to go on"
            )
        if self._looks & (self._looks - 1) == 0:  # the first, second, fourth, …
            self._say(text)


def are_placed(processes: int) -> bool:
    """Whether the ranks of any trial of this job, so many, have their places: Ray Train asks for
    them itself, once Tune takes the trial for running, and waits."""
    import ray
    from ray.util import placement_group_table

    job = ray.get_runtime_context().get_job_id()
    return any(
        group["state"] == "CREATED" and name.endswith(job) and len(group["bundles"]) == processes
        for name, group in placement_group_table().items()
    )


def watching(wanted: Amounts, processes: int, patience: Patience) -> Any:
    """A ``tune.Callback`` that keeps a ``Watch``."""
    from ray import tune

    watch = Watch(wanted, processes, patience)

    class Callback(tune.Callback):  # type: ignore[misc]
        def on_step_end(self, iteration: int, trials: Any, **_: Any) -> None:
            running = any(trial.status == "RUNNING" for trial in trials)
            watch.look(running and (processes == 1 or are_placed(processes)))

        def __reduce__(self) -> tuple[Any, ...]:
            """Tune pickles what it may restore; nothing is ever restored from it here."""
            return tune.Callback, ()

    return Callback()
