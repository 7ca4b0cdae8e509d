"""Trials by Ray Tune, and what is told of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any
from uuid import uuid4

from embedsearch import sources
from embedsearch.errors import UserError
from embedsearch.place import Place
from embedsearch.records import Measurement, Observer, TrialResult, TrialSpec
from embedsearch.sweep.budget import Meter
from embedsearch.sweep.search import ranks
from embedsearch.sweep.search.adapters import as_text, callback, searcher, spec_of, stopper
from embedsearch.sweep.search.cluster import Cluster, first_line, lost, room
from embedsearch.sweep.search.placement import watching
from embedsearch.sweep.search.proposals import Proposals
from embedsearch.sweep.search.relay import RETRIES, Relay
from embedsearch.sweep.search.scratch import scratch
from embedsearch.sweep.search.stopping import SCORE, TO_THE_END, Curves, Stopping, replay

WORST = -100.0
"""What a trial without a score counts for a scheduler; a dev score is a correlation times 100."""

Run = Callable[[TrialSpec, Place, Callable[[Measurement], None]], TrialResult]
"""Runs one trial in a worker: ``trial.run``, or another in its place."""


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
    spec id, in brief.

    ``before``: the curves of trials that the same sweep has stopped or finished, for the rule. A
    trial without a result did not come to its end (Ctrl-C, or the budget was spent). Workers are
    reused: a worker pays its imports and its backbone once.
    """
    place = replace(place, rungs=stopping.rungs) if stopping.keeps else place
    meter = meter or Meter(place.devices)
    relay = Relay(observer, meter, place, work)
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

    def __init__(self, place: Place, cluster: Cluster, relay: Relay, run: Run) -> None:
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
        if not isinstance(work, Proposals):
            for spec in work:
                self.publish(spec)
        several = self.cluster.address is not None
        with scratch(self.place, f"sweep-{uuid4().hex}", shared=several) as storage:
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
                    **storage,
                    failure_config=tune.FailureConfig(max_failures=RETRIES),
                    callbacks=[
                        callback(self.relay),
                        watching(
                            self.cluster.wanted, self.cluster.processes, self.cluster.patience
                        ),
                    ],
                    stop=stopper(self.relay),
                    verbose=0,
                ),
            )
            failure: Exception | None = None
            try:
                tuner.fit()
            except (RayError, tune.TuneError, ConnectionError) as error:
                failure = error
        own = self.relay.failure  # Tune has made another error of it, or passed it over
        if own is not None and not isinstance(own, RayError):
            raise own
        if failure := own or failure:
            raise UserError(lost(first_line(failure))) from failure

    def publish(self, spec: TrialSpec) -> None:
        sources.publish(spec, self.place)

    def _searching(self, work: Sequence[TrialSpec] | Proposals) -> dict[str, Any]:
        if isinstance(work, Proposals):
            proposer = searcher(work, self.relay, self.room, self.publish)
            return {"search_alg": proposer, "num_samples": -1}
        if any(spec.ranks > 1 for spec in work):  # Tune does not see what their processes hold
            return {"max_concurrent_trials": self.room()}
        return {}

    def room(self) -> int:
        """How many trials the cluster can hold as it is now; nodes come and go."""
        return max(1, room(self.cluster))


def _listed(specs: Sequence[TrialSpec]) -> dict[str, Any]:
    from ray import tune

    return {"spec": tune.grid_search([as_text(spec) for spec in specs])}


def _name(trial: Any) -> str:
    return spec_of(trial.config).id


def _trainable(config: dict[str, Any], place: Place, run: Run) -> None:
    """One trial in a worker: its measurements, the last of them together with its result, so that
    whatever is decided on a report, a trial that is at its end has told it."""
    from ray import tune

    spec = spec_of(config)
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
