"""Trials by Ray Tune, and what is told of them."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from embedsearch.errors import UserError
from embedsearch.place import Place
from embedsearch.records import Measurement, Observer, Status, TrialResult, TrialSpec
from embedsearch.sweep.search.cluster import Cluster, first_line, lost
from embedsearch.sweep.search.placement import watching

RETRIES = 3
"""How often a trial is started again whose worker or node died; it goes on from its checkpoint."""


Run = Callable[[TrialSpec, Place, Callable[[Measurement], None]], TrialResult]
"""Runs one trial in a worker: ``trial.run``, or another in its place."""


def run_trials(
    specs: Sequence[TrialSpec],
    place: Place,
    cluster: Cluster,
    observer: Observer,
    *,
    run: Run | None = None,
) -> dict[str, TrialResult]:
    """Run ``specs`` in their order over the connected cluster; results by spec id.

    A trial without a result was stopped before its end (Ctrl-C). Workers are reused: a worker pays
    its imports and its backbone once.
    """
    from ray import tune
    from ray.exceptions import RayError

    if run is None:
        from embedsearch import trial

        run = trial.run
    relay = _Relay(specs, observer)
    with tempfile.TemporaryDirectory(prefix="embedsearch-") as scratch:
        tuner = tune.Tuner(
            tune.with_resources(
                tune.with_parameters(_trainable, place=place, run=run),
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
                callbacks=[_callback(relay), watching(cluster.wanted, cluster.patience)],
                verbose=0,
            ),
        )
        try:
            tuner.fit()
        except (RayError, tune.TuneError, ConnectionError) as error:
            raise UserError(lost(first_line(error))) from error
    return relay.results


def _trainable(config: dict[str, Any], place: Place, run: Run) -> None:
    """One trial in a worker: its measurements, then its result, as metrics."""
    from ray import tune

    def report(measurement: Measurement) -> None:
        tune.report({"step": measurement.step, "metrics": dict(measurement.metrics)})

    result = run(TrialSpec.from_json(config["spec"]), place, report)
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
