"""A trial of several devices: its processes by Ray Train, inside the trial that Ray Tune runs."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from embedsearch.errors import RankLost
from embedsearch.place import Place, Seat
from embedsearch.records import Measurement, TrialResult, TrialSpec
from embedsearch.sweep.search.adapters import spec_of
from embedsearch.sweep.search.cluster import Cluster
from embedsearch.sweep.search.scratch import scratch

Report = Callable[[Measurement], None]

_STARTER_CPUS = 0.001
"""What the process holds that starts the others: a trial's share of CPUs is theirs."""
_POLL_S = "0.5"


class RankFailed(Exception):
    """A rank came to a result that is no score, as JSON: the others are to be ended."""


def resources(config: Mapping[str, Any], cluster: Cluster) -> Any:
    """What Ray Tune reserves for the trial of ``config``.

    Ray Train reserves for the ranks itself, in a placement group of its own, so here is next to
    nothing then, and who runs the trials must bound how many run at once.
    """
    from ray import tune

    if spec_of(config).ranks > 1:
        return tune.PlacementGroupFactory([{"CPU": _STARTER_CPUS}])
    gpus = min(cluster.gpus_per_trial, 1.0)  # one that can't be divided, beside others that are
    return tune.PlacementGroupFactory([{"CPU": cluster.cpus_per_trial, "GPU": gpus}])


def run(spec: TrialSpec, place: Place, report: Report) -> TrialResult:
    """``trial.run``, in as many processes as the spec has ranks.

    Raises Ray Train's ``TrainingFailedError`` where one of them was lost: the trial goes on from
    its state when it is run again. Where ``report`` raises, they are ended at their next report.
    """
    if spec.ranks == 1:
        from embedsearch import trial

        return trial.run(spec, place, report)
    from ray.train import WorkerGroupError
    from ray.util.queue import Queue

    queue = Queue(maxsize=1, actor_options={"num_cpus": 0})
    with ThreadPoolExecutor(1) as thread:
        fit = thread.submit(_fit, spec, place, queue)
        try:
            for measurement in _measurements(queue, fit):
                report(measurement)
            return TrialResult.from_json(fit.result().return_value)
        except WorkerGroupError as error:
            for _, failure in sorted(error.worker_failures.items()):
                if isinstance(failure, RankFailed):
                    return TrialResult.from_json(failure.args[0])
            raise
        finally:
            queue.shutdown(force=True)


def _fit(spec: TrialSpec, place: Place, queue: Any) -> Any:
    from ray.train import RunConfig, ScalingConfig
    from ray.train.torch import TorchTrainer

    os.environ.setdefault("RAY_TRAIN_HEALTH_CHECK_INTERVAL_S", _POLL_S)
    cpus = math.floor((spec.threads - _STARTER_CPUS) / spec.ranks * 1e4) / 1e4  # Ray's grain
    gpus = {"GPU": 1} if spec.device == "cuda" else {}
    with scratch(place, f"trial-{spec.id}") as storage:
        trainer = TorchTrainer(
            _rank,
            train_loop_config={"spec": spec.to_json(), "place": place, "queue": queue},
            scaling_config=ScalingConfig(
                num_workers=spec.ranks,
                use_gpu=bool(gpus),
                resources_per_worker={"CPU": cpus, **gpus},
            ),
            run_config=RunConfig(name=spec.id, **storage),
            torch_config=_without_a_group(),
        )
        return trainer.fit()


def _measurements(queue: Any, fit: Future[Any]) -> Iterator[Measurement]:
    """What the first rank reports, until all is over."""
    from ray.util.queue import Empty

    while True:
        try:
            yield Measurement(**queue.get(timeout=0.2))
        except Empty:
            if fit.done():
                return


def _rank(config: Mapping[str, Any]) -> dict[str, Any]:
    """One of the trial's processes; gives its result as JSON."""
    from ray import train, util
    from ray.exceptions import RayError
    from ray.train.collective import broadcast_from_rank_zero

    from embedsearch import trial

    context, queue = train.get_context(), config["queue"]
    seat = Seat(
        context.get_world_rank(),
        context.get_world_size(),
        util.get_node_ip_address(),
        broadcast_from_rank_zero,
    )

    def report(measurement: Measurement) -> None:
        try:
            queue.put({"step": measurement.step, "metrics": dict(measurement.metrics)})
        except RayError as error:
            raise RankLost("nobody takes its reports: the trial was stopped") from error

    result = trial.run_as_rank(
        TrialSpec.from_json(config["spec"]), config["place"], report, seat
    ).to_json()
    if result["status"] != "finished":
        raise RankFailed(result)
    return result


def _without_a_group() -> Any:
    """A configuration of Ray Train's under which the ranks make torch's process group themselves:
    the store of the one that Ray makes listens at every address."""
    from ray.train.torch import TorchConfig

    class Backend(TorchConfig().backend_cls):  # type: ignore[misc]
        def on_start(self, worker_group: Any, backend_config: Any) -> None:
            """Nothing: they join by themselves."""

    class Config(TorchConfig):  # type: ignore[misc]
        backend_cls = Backend

    return Config()
