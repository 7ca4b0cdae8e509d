"""Trials by Ray Tune, and what is told of them."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from embedsearch.durable import remove_whole
from embedsearch.errors import UserError
from embedsearch.place import Place
from embedsearch.records import Measurement, Observer, Status, TrialResult, TrialSpec
from embedsearch.sweep.budget import Meter
from embedsearch.sweep.search import ranks
from embedsearch.sweep.search.cluster import Cluster, first_line, lost, room
from embedsearch.sweep.search.proposals import SCORE, Proposals
from embedsearch.sweep.search.stopping import TO_THE_END, Stopping, replay

RETRIES = 3
"""How often a trial is started again whose worker or node died; it goes on from its checkpoint."""

WORST = -100.0
"""What a trial without a score counts for a scheduler; a dev score is a correlation times 100."""

Run = Callable[[TrialSpec, Place, Callable[[Measurement], None]], TrialResult]
"""Runs one trial in a worker: ``trial.run``, or another in its place."""

Curves = Mapping[str, Mapping[int, float]]
"""Dev scores by step, of trials by spec id."""


def run_trials(
    work: Sequence[TrialSpec] | Proposals,
    place: Place,
    cluster: Cluster,
    observer: Observer,
    *,
    stopping: Stopping = TO_THE_END,
    meter: Meter | None = None,
    before: Curves | None = None,
    run: Run = ranks.run,
) -> dict[str, TrialResult]:
    """Run specs in their order, or as they are proposed, over the connected cluster; results by
    spec id.

    ``before``: the curves of trials that the same sweep has stopped or finished, for the rule. A
    trial without a result did not come to its end (Ctrl-C, or the budget was spent). Workers are
    reused: a worker pays its imports and its backbone once.
    """
    place = replace(place, rungs=stopping.rungs) if stopping.keeps else place
    meter = meter or Meter(place.devices)
    relay = _Relay(observer, meter, place, work)
    tune = _Tune(place, cluster, relay, run)
    if not stopping.keeps:
        scheduler = stopping.scheduler()
        if scheduler is not None:
            replay(scheduler, before or {})
        tune.fit(work, scheduler=scheduler)
        return relay.results
    tune.fit(work, until=stopping.rungs[0])
    if not relay.unfinished:
        tune.fit(relay.choose(stopping, before or {}))
    return relay.results


class _Tune:
    """Ray Tune, set up for trials of ours."""

    def __init__(self, place: Place, cluster: Cluster, relay: _Relay, run: Run) -> None:
        self.place, self.cluster, self.relay, self.run = place, cluster, relay, run

    def fit(
        self,
        work: Sequence[TrialSpec] | Proposals,
        *,
        scheduler: Any = None,
        until: int | None = None,
    ) -> None:
        """Until all is done, all trials are at the step ``until``, or the meter stops it."""
        from ray import tune
        from ray.exceptions import RayError

        self.relay.until = until
        with tempfile.TemporaryDirectory(prefix="embedsearch-") as scratch:
            storage = self.place.storage.resolve() / "ray" if self.cluster.address else scratch
            trainable = tune.with_parameters(_trainable, place=self.place, run=self.run)
            tuner = tune.Tuner(
                tune.with_resources(trainable, partial(ranks.resources, cluster=self.cluster)),
                param_space=None if isinstance(work, Proposals) else _listed(work),
                tune_config=tune.TuneConfig(
                    reuse_actors=True,
                    trial_name_creator=_name,
                    trial_dirname_creator=_name,
                    scheduler=scheduler,
                    **self._searching(work),
                ),
                run_config=tune.RunConfig(
                    storage_path=str(storage),
                    failure_config=tune.FailureConfig(max_failures=RETRIES),
                    callbacks=[_callback(self.relay)],
                    stop=_stopper(self.relay),
                    verbose=0,
                ),
            )
            try:
                tuner.fit()
            except (RayError, tune.TuneError, ConnectionError) as error:
                raise UserError(lost(first_line(error))) from error

    def _searching(self, work: Sequence[TrialSpec] | Proposals) -> dict[str, Any]:
        if isinstance(work, Proposals):
            return {"search_alg": _searcher(work, self.relay, self.room), "num_samples": -1}
        if any(spec.ranks > 1 for spec in work):  # Tune does not see what their processes hold
            return {"max_concurrent_trials": self.room()}
        return {}

    def room(self) -> int:
        """How many trials the cluster can hold as it is now; nodes come and go."""
        import ray

        return max(1, room(ray.cluster_resources(), self.cluster))


def _listed(specs: Sequence[TrialSpec]) -> dict[str, Any]:
    from ray import tune

    return {"spec": tune.grid_search([spec.to_json() for spec in specs])}


def _name(trial: Any) -> str:
    return TrialSpec.from_json(trial.config["spec"]).id


def _trainable(config: dict[str, Any], place: Place, run: Run) -> None:
    """One trial in a worker: its measurements, the last of them together with its result, so that
    whatever is decided on a report, a trial that is at its end has told it."""
    from ray import tune

    spec = TrialSpec.from_json(config["spec"])
    best = WORST
    last: dict[str, Any] = {"step": 0, "metrics": {}, SCORE: best}

    def report(measurement: Measurement) -> None:
        nonlocal best, last
        score = measurement.metrics.get("dev/spearman", WORST)
        best = score if measurement.step <= 0 else max(score, best if last["step"] else WORST)
        last = {"step": measurement.step, "metrics": dict(measurement.metrics), SCORE: best}
        if measurement.step < spec.total_steps:
            tune.report(last)

    result = run(spec, place, report)
    score = WORST if result.best_score is None else result.best_score
    tune.report({**last, SCORE: score, "result": result.to_json()})


class _Relay:
    """Turns what Ray tells of its trials into what an observer is told of ours."""

    def __init__(
        self,
        observer: Observer,
        meter: Meter,
        place: Place,
        work: Sequence[TrialSpec] | Proposals,
    ) -> None:
        self.observer, self.meter, self.place = observer, meter, place
        self.proposals = work if isinstance(work, Proposals) else None
        self.specs = work.specs if isinstance(work, Proposals) else {s.id: s for s in work}
        self.results: dict[str, TrialResult] = {}
        self.until: int | None = None
        self.curves: dict[str, dict[int, Measurement]] = {}
        self.waiting: dict[str, float] = {}
        """The scores of those that wait at the step ``until``."""
        self.held: dict[str, float] = {}
        """Device-seconds."""

    @property
    def unfinished(self) -> bool:
        """Whether a trial is neither at its end nor at the step ``until``."""
        return any(key not in self.results and key not in self.waiting for key in self.specs)

    def started(self, spec_id: str) -> None:
        self.meter.begin(spec_id)
        self.waiting.pop(spec_id, None)
        self.observer.trial_started(self.specs[spec_id])

    def reported(self, spec_id: str, report: Mapping[str, Any]) -> None:
        if report["metrics"]:
            measurement = Measurement(report["step"], report["metrics"])
            self.curves.setdefault(spec_id, {})[measurement.step] = measurement
            self.observer.measured(self.specs[spec_id], measurement)
        if "result" in report:
            self._ended(TrialResult.from_json(report["result"]))
        elif self.is_at_rung(report):
            self.waiting[spec_id] = report[SCORE]

    def is_at_rung(self, report: Mapping[str, Any]) -> bool:
        """Whether a trial of whom this is told is to wait there for the others."""
        return self.until is not None and report["step"] >= self.until and "result" not in report

    def left(self, spec_id: str) -> None:
        """It holds its devices no more: at its end, at a rung, or stopped by a scheduler."""
        self.held[spec_id] = self.held.get(spec_id, 0.0) + self.meter.end(spec_id)
        if spec_id not in self.results and spec_id not in self.waiting:
            self._stopped(spec_id, "behind the others")

    def died(self, spec_id: str) -> None:
        """Its worker was lost more often than it is started again."""
        self.held[spec_id] = self.held.get(spec_id, 0.0) + self.meter.end(spec_id)
        if spec_id not in self.results:
            reason = f"its worker died {RETRIES + 1} times (out of memory, or the node was lost)"
            self._ended(TrialResult(spec_id, Status.FAILED, reason))

    def choose(self, stopping: Stopping, before: Curves) -> list[TrialSpec]:
        """The best of those that wait, and of ``before``; the others are stopped."""
        step = stopping.rungs[0]
        scores = {key: curve[step] for key, curve in before.items() if step in curve}
        ranked = sorted({**scores, **self.waiting}.items(), key=lambda item: -item[1])
        best = {key for key, _ in ranked[: stopping.keeps]}
        for spec_id in [key for key in self.waiting if key not in best]:
            self._stopped(spec_id, f"not among the best {stopping.keeps}")
        return [self.specs[key] for key in self.waiting if key in best]

    def _stopped(self, spec_id: str, why: str) -> None:
        """It leaves nothing to go on from: a sweep that wants all of it begins it anew."""
        remove_whole(self.place.work(spec_id) / "state")
        curve = self.curves.get(spec_id, {})
        step = max(curve, default=0)
        score = curve[step].metrics.get("dev/spearman") if curve else None
        with_score = "" if score is None else f" with {score:.2f}"
        seconds = self.held.get(spec_id, 0.0)
        self._ended(
            TrialResult(
                spec_id,
                Status.STOPPED,
                f"at step {step}{with_score}, {why}",
                history=tuple(curve.values()),
                seconds=seconds / (self.meter.devices or 1),
                device_seconds=seconds,
            )
        )

    def _ended(self, result: TrialResult) -> None:
        self.waiting.pop(result.spec_id, None)
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

        def on_trial_complete(self, iteration: int, trials: Any, trial: Any, **_: Any) -> None:
            relay.left(str(trial))

        def on_trial_error(self, iteration: int, trials: Any, trial: Any, **_: Any) -> None:
            relay.died(str(trial))

        def __reduce__(self) -> tuple[Any, ...]:
            """Tune pickles what it may restore; nothing is ever restored from it here."""
            return tune.Callback, ()

    return Callback()


def _stopper(relay: _Relay) -> Any:
    from ray.tune import stopper

    class Stopper(stopper.Stopper):  # type: ignore[misc]
        def __call__(self, trial_id: str, result: Any) -> bool:
            return relay.is_at_rung(result)

        def stop_all(self) -> bool:
            return relay.meter.is_over

        def __reduce__(self) -> tuple[Any, ...]:
            return stopper.NoopStopper, ()

    return Stopper()


def _searcher(proposals: Proposals, relay: _Relay, room: Callable[[], int]) -> Any:
    """As many at once as there is room for: one ahead would be proposed knowing less."""
    from ray.tune.search import Searcher

    class Proposer(Searcher):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__(metric=SCORE, mode="max")
            self.specs: dict[str, TrialSpec] = {}
            self.live: set[str] = set()

        def suggest(self, trial_id: str) -> Any:
            if len(self.live) >= room():
                return None
            spec = None if relay.meter.is_over else proposals.next(trial_id)
            if spec is None:
                return Searcher.FINISHED
            self.specs[trial_id] = spec
            self.live.add(trial_id)
            return {"spec": spec.to_json()}

        def on_trial_result(self, trial_id: str, result: Any) -> None:
            spec = self.specs[trial_id]
            if "result" not in result and not any(key.startswith("result/") for key in result):
                proposals.reported(trial_id, result["step"] // spec.eval_steps, result[SCORE])

        def on_trial_complete(self, trial_id: str, result: Any = None, error: bool = False) -> None:
            self.live.discard(trial_id)
            proposals.ended(trial_id, relay.results.get(self.specs[trial_id].id))

        def save_to_dir(self, *_: Any, **__: Any) -> None:
            """The store knows all that it would write down."""

        def __reduce__(self) -> tuple[Any, ...]:
            return Searcher, (SCORE, "max")

    return Proposer()
