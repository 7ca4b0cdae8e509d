"""What Ray Tune wants of a trial, a callback, a stopper and a searcher.

Tune pickles the latter three for a restore that never happens here: each gives it an empty one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from embedsearch.records import TrialSpec
from embedsearch.sweep.search.proposals import Proposals
from embedsearch.sweep.search.relay import Relay
from embedsearch.sweep.search.stopping import SCORE


def as_text(spec: TrialSpec) -> str:
    """What Tune has of a trial: to make each one it copies the list of all of them, deeply, and
    text is not copied."""
    return json.dumps(spec.to_json())


def spec_of(config: Mapping[str, Any]) -> TrialSpec:
    """Of a trial's configuration."""
    return TrialSpec.from_json(json.loads(config["spec"]))


def callback(relay: Relay) -> Any:
    from ray import tune

    class Callback(tune.Callback):  # type: ignore[misc]
        @relay.ours
        def on_trial_start(self, iteration: int, trials: Any, trial: Any, **_: Any) -> None:
            relay.started(str(trial))

        @relay.ours
        def on_trial_result(
            self, iteration: int, trials: Any, trial: Any, result: Any, **_: Any
        ) -> None:
            relay.reported(str(trial), result)
            if "result" in result:
                result["result"] = None  # Tune keeps the last report of each trial

        @relay.ours
        def on_trial_complete(self, iteration: int, trials: Any, trial: Any, **_: Any) -> None:
            relay.left(str(trial))

        @relay.ours
        def on_trial_error(self, iteration: int, trials: Any, trial: Any, **_: Any) -> None:
            relay.died(str(trial))

        def __reduce__(self) -> tuple[Any, ...]:
            return tune.Callback, ()

    return Callback()


def stopper(relay: Relay) -> Any:
    from ray.tune.stopper import NoopStopper

    class Stopper(NoopStopper):  # type: ignore[misc]
        @relay.ours
        def __call__(self, trial_id: str, result: Any) -> bool:
            return relay.is_at_rung(result)

        @relay.ours
        def stop_all(self) -> bool:
            return relay.failure is not None or relay.meter.is_over

        def __reduce__(self) -> tuple[Any, ...]:
            return NoopStopper, ()

    return Stopper()


def searcher(
    proposals: Proposals,
    relay: Relay,
    room: Callable[[], int],
    publish: Callable[[TrialSpec], object],
) -> Any:
    """As many at once as there is room for: one ahead would be proposed knowing less. ``publish``
    is told of each before it starts."""
    from ray.tune.search import Searcher

    class Proposer(Searcher):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__(metric=SCORE, mode="max")
            self.specs: dict[str, TrialSpec] = {}
            self.live: set[str] = set()

        @relay.ours
        def suggest(self, trial_id: str) -> Any:
            if len(self.live) >= room():
                return None
            spec = None if relay.meter.is_over else proposals.next(trial_id)
            if spec is None:
                return Searcher.FINISHED
            publish(spec)
            self.specs[trial_id] = spec
            self.live.add(trial_id)
            return {"spec": as_text(spec)}

        @relay.ours
        def on_trial_result(self, trial_id: str, result: Any) -> None:
            spec = self.specs[trial_id]
            if "result" not in result and not any(key.startswith("result/") for key in result):
                proposals.reported(trial_id, result["step"] // spec.eval_steps, result[SCORE])

        @relay.ours
        def on_trial_complete(self, trial_id: str, result: Any = None, error: bool = False) -> None:
            self.live.discard(trial_id)
            proposals.ended(trial_id, relay.results.get(self.specs[trial_id].id))

        def save_to_dir(self, *_: Any, **__: Any) -> None:
            """The store knows all that it would write down."""

        def __reduce__(self) -> tuple[Any, ...]:
            return Searcher, (SCORE, "max")

    return Proposer()
