"""Trials over a Ray cluster; the only place that imports ray and optuna."""

from __future__ import annotations

import logging
import os
import signal
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread
from typing import Any

from embedsearch import trial
from embedsearch.errors import UserError
from embedsearch.records import Measurement, Observer, Scalar, Status, TrialResult, TrialSpec
from embedsearch.sweep.axis import Axis, Choice

RETRIES = 3
"""How often a trial is started again whose worker or node died; it goes on from its checkpoint."""


@dataclass(frozen=True)
class Cluster:
    """Where trials run, and what each of them holds."""

    address: str | None = None
    """Of a running Ray cluster; None starts one on this machine, listening on loopback."""
    cpus_per_trial: int = 1
    gpus_per_trial: float = 0.0


def local_resources() -> dict[str, float]:
    """What this machine has to run trials on (``CPU``, ``GPU``), without starting Ray."""
    import torch

    cpus = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {"CPU": cpus or 1, "GPU": torch.cuda.device_count()}


@contextmanager
def connected(cluster: Cluster) -> Iterator[Mapping[str, float]]:
    """Start or join Ray; gives the cluster's resources (``CPU``, ``GPU``). Ends it on the way out.

    SIGTERM is then as good as Ctrl-C: Ray writes down nothing we need, and the trials go on from
    their own checkpoints.
    """
    os.environ.update(_ENVIRONMENT)
    if cluster.address is None:
        os.environ.update(_LOOPBACK)
    else:
        os.environ.setdefault("RAY_AUTH_MODE", "token" if _TOKEN.is_file() else "disabled")
    import ray  # reads its environment when imported

    try:
        ray.init(address=cluster.address or "local", **_quiet(cluster))
    except Exception as error:
        raise UserError(_why_not(cluster.address, error)) from error
    _silence()
    ended = _watch_raylet() if cluster.address is None else Event()
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield ray.cluster_resources()
    finally:
        signal.signal(signal.SIGTERM, before)
        ended.set()
        with unstoppable():
            ray.shutdown()


def _watch_raylet() -> Event:
    """Say it where our raylet dies before the event is set: Ray ends this process without a word.

    Nothing is lost then that a trial or the store had, and no handler of ours would run.
    """
    from ray._private import worker

    raylet = worker._global_node.all_processes["raylet"][0].process
    ended = Event()

    def wait() -> None:
        raylet.wait()
        if not ended.is_set():
            show_cursor = "\033[?25h" if sys.stderr.isatty() else ""
            sys.stderr.write(f"{show_cursor}error: {_lost('its raylet died')}\n")

    Thread(target=wait, daemon=True).start()
    return ended


@contextmanager
def unstoppable() -> Iterator[None]:
    """Ctrl-C and SIGTERM do nothing in here: for the short way out, which must be gone whole."""
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(number, signal.SIG_IGN) for number in numbers]
    try:
        yield
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)


def _why_not(address: str | None, error: Exception) -> str:
    reason = _first_line(error)
    if address is None:
        return f"Ray did not start on this machine ({reason}); give the same command again"
    return (
        f"no Ray cluster answers at '{address}' ({reason}); start one with 'ray start --head' (its "
        f"token lies in {_TOKEN}, or RAY_AUTH_MODE=disabled on both sides), or leave --address out"
    )


def _silence() -> None:
    """What befalls Ray's processes is ours to tell; it would print it among a program's JSON."""
    from ray._private import worker

    worker.print_to_stdstream = lambda *_, **__: None
    for name in ("ray", "ray.tune", "ray.air"):
        logging.getLogger(name).setLevel(logging.CRITICAL)


_ENVIRONMENT = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_AIR_NEW_OUTPUT": "0",
    "TUNE_DISABLE_AUTO_CALLBACK_LOGGERS": "1",
    "TUNE_MAX_PENDING_TRIALS_PG": "16",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "TOKENIZERS_PARALLELISM": "false",
}
_LOOPBACK = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
"""Makes gcs, raylet and workers listen on 127.0.0.1: an undocumented effect, held by a test."""


_TOKEN = Path.home() / ".ray" / "auth_token"
"""What ``ray start`` locks a cluster with by itself; a driver must be told to bring it."""


def _quiet(cluster: Cluster) -> dict[str, Any]:
    common: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
    if cluster.address is not None:
        return common
    own = local_resources()
    return {
        **common,
        "num_cpus": int(own["CPU"]),
        "num_gpus": int(own["GPU"]),
        "include_dashboard": False,
        "object_store_memory": 200_000_000,
    }


def run_trials(
    specs: Sequence[TrialSpec], place: trial.Place, cluster: Cluster, observer: Observer
) -> dict[str, TrialResult]:
    """Run ``specs`` in their order over the connected cluster; results by spec id.

    A trial without a result was stopped before its end (Ctrl-C). Workers are reused: a worker pays
    its imports and its backbone once.
    """
    from ray import tune
    from ray.exceptions import RayError

    relay = _Relay(specs, observer)
    with tempfile.TemporaryDirectory(prefix="embedsearch-") as scratch:
        tuner = tune.Tuner(
            tune.with_resources(
                tune.with_parameters(_trainable, place=place),
                {"cpu": cluster.cpus_per_trial, "gpu": cluster.gpus_per_trial},
            ),
            param_space={"spec": tune.grid_search([spec.to_json() for spec in specs])},
            tune_config=tune.TuneConfig(
                reuse_actors=True,
                trial_name_creator=lambda t: TrialSpec.from_json(t.config["spec"]).id,
                trial_dirname_creator=lambda t: TrialSpec.from_json(t.config["spec"]).id,
            ),
            run_config=tune.RunConfig(
                storage_path=str(place.storage.resolve() / "ray") if cluster.address else scratch,
                failure_config=tune.FailureConfig(max_failures=RETRIES),
                callbacks=[_callback(relay)],
                verbose=0,
            ),
        )
        try:
            tuner.fit()
        except (RayError, tune.TuneError, ConnectionError) as error:
            raise UserError(_lost(_first_line(error))) from error
    return relay.results


def _lost(reason: str) -> str:
    return f"Ray was lost ({reason}); give the same command again to go on"


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def draw(axes: Mapping[str, Axis], seed: int) -> Iterator[Mapping[str, Scalar]]:
    """Endless uniform draws, one value per axis, the same for the same seed (Optuna's sampler)."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=seed))
    distributions = {name: _distribution(axis) for name, axis in axes.items()}
    while True:
        yield study.ask(distributions).params


def _distribution(axis: Axis) -> Any:
    from optuna import distributions

    if isinstance(axis, Choice):
        return distributions.CategoricalDistribution(axis.values)
    if axis.integer:
        return distributions.IntDistribution(int(axis.low), int(axis.high), log=axis.log)
    return distributions.FloatDistribution(axis.low, axis.high, log=axis.log)


def _trainable(config: dict[str, Any], place: trial.Place) -> None:
    """One trial in a worker: its measurements, then its result, as metrics."""
    from ray import tune

    def report(measurement: Measurement) -> None:
        tune.report({"step": measurement.step, "metrics": dict(measurement.metrics)})

    result = trial.run(TrialSpec.from_json(config["spec"]), place, report)
    tune.report({"step": -1, "metrics": {}, "result": result.to_json()})


class _Relay:
    """Turns what Ray tells of its trials into what an observer is told of ours."""

    def __init__(self, specs: Sequence[TrialSpec], observer: Observer) -> None:
        self.specs = {spec.id: spec for spec in specs}
        self.observer = observer
        self.results: dict[str, TrialResult] = {}

    def started(self, spec_id: str) -> None:
        self.observer.trial_started(self.specs[spec_id])

    def reported(self, spec_id: str, report: Mapping[str, Any]) -> None:
        if "result" in report:
            self._ended(TrialResult.from_json(report["result"]))
        else:
            measurement = Measurement(report["step"], report["metrics"])
            self.observer.measured(self.specs[spec_id], measurement)

    def died(self, spec_id: str) -> None:
        """Its worker was lost more often than it is started again."""
        if spec_id not in self.results:
            reason = f"its worker died {RETRIES + 1} times (out of memory, or the node was lost)"
            self._ended(TrialResult(spec_id, Status.FAILED, reason))

    def _ended(self, result: TrialResult) -> None:
        self.results[result.spec_id] = result
        self.observer.trial_ended(self.specs[result.spec_id], result)


def _callback(relay: _Relay) -> Any:
    from ray import tune

    class Callback(tune.Callback):  # type: ignore[misc]
        def on_trial_start(self, iteration: int, trials: Any, trial: Any, **_: Any) -> None:
            relay.started(str(trial))

        def on_trial_result(
            self, iteration: int, trials: Any, trial: Any, result: Any, **_: Any
        ) -> None:
            relay.reported(str(trial), result)

        def on_trial_error(self, iteration: int, trials: Any, trial: Any, **_: Any) -> None:
            relay.died(str(trial))

        def __reduce__(self) -> tuple[Any, ...]:
            """Tune pickles what it may restore; nothing is ever restored from it here."""
            return tune.Callback, ()

    return Callback()


def trials_at_once(resources: Mapping[str, float], cluster: Cluster) -> int:
    """How many trials the cluster can hold; ``UserError`` where it can't hold one."""
    wanted = {"CPU": cluster.cpus_per_trial, "GPU": cluster.gpus_per_trial}
    counts = [int(resources.get(kind, 0) / amount) for kind, amount in wanted.items() if amount]
    if not min(counts):
        lacking = next(kind for kind, n in wanted.items() if n > resources.get(kind, 0))
        raise UserError(
            f"a trial wants {wanted[lacking]} {lacking}, and the cluster has "
            f"{resources.get(lacking, 0):g}: lower --{lacking.lower()}s-per-trial"
        )
    return min(counts)
