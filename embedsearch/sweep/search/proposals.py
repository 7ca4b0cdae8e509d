"""Points proposed one at a time by an Optuna sampler, through Ray Tune's own adapter to it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from embedsearch.errors import UserError
from embedsearch.records import Point, Scalar, Status, TrialResult, TrialSpec
from embedsearch.sweep.search.cluster import prepare
from embedsearch.sweep.search.samplers import dimensions, sampler
from embedsearch.sweep.search.stopping import SCORE, Curves, best_so_far

if TYPE_CHECKING:  # with it come the methods, and torch: not for a worker that needs none
    from embedsearch.sweep.region import Region

_TRIES = 8
"""Proposals in a row that bring nothing new, before an untried point is taken instead."""
_DEAD_ENDS = 20 * _TRIES


class Proposals:
    """What to try next, learning from what was tried.

    A proposal that breaks a condition, can't run on the backbone or was tried before is given back
    to the sampler as one without a score. So every spec is new, and a finite region has an end.
    """

    def __init__(
        self,
        region: Region,
        spec_of: Callable[[Point], TrialSpec],
        method: str,
        seed: int,
        *,
        limit: int | None = None,
        members: Sequence[TrialSpec] = (),
        again: Sequence[TrialSpec] = (),
    ) -> None:
        """``method``: a sampler by name; ``limit``: how many specs at most, ``members`` included,
        which are those that the same sweep has tried before, and of which ``again`` are to be run
        first, for they did not come to an end. ``spec_of`` raises ``UserError`` for a point that
        can't run.
        """
        if "ray" not in sys.modules:  # else it has joined a cluster, or was prepared
            prepare()
        from optuna.storages import InMemoryStorage
        from optuna.study import load_study
        from ray.tune.search.optuna import OptunaSearch

        region.must_vary()
        self.region, self.limit = region, limit
        self.specs = {spec.id: spec for spec in members}
        self._again = list(again)
        self._spec_of = spec_of
        self._dimensions = dimensions(region.axes)
        storage = InMemoryStorage()
        self._inner = OptunaSearch(
            {name: dimension.distribution for name, dimension in self._dimensions.items()},
            metric=SCORE,
            mode="max",
            sampler=sampler(method, seed),
            storage=storage,
            study_name=method,
        )
        self._study = load_study(study_name=method, storage=storage, sampler=sampler(method, seed))
        self._known: set[str] = set()
        self._asked: dict[str, str] = {}
        self._resumed: dict[str, TrialSpec] = {}
        self._curves: dict[str, dict[int, float]] = {}
        """Scores by evaluation, of what was asked or resumed and is not at its end."""
        self._prunes = method == "tpe"
        """Whether the sampler learns from curves; others pass over a trial without a last score."""
        self._tries = 0
        self._untried: list[Mapping[str, Scalar]] | None = None

    @property
    def is_at_its_end(self) -> bool:
        """Whether the limit is reached, and nothing is left to be run again."""
        reached = self.limit is not None and len(self.specs) >= self.limit
        return reached and not self._again

    @property
    def example(self) -> TrialSpec:
        """Any spec of the region, for what all of them share; ``UserError`` where none can run."""
        first = {name: dimension.first for name, dimension in self._dimensions.items()}
        refused: UserError | None = None
        for chosen in self.region.choices() if self.region.is_finite else [first]:
            try:
                return self._spec_of(self.region.point(chosen))
            except UserError as error:
                refused = error
        raise refused or self.region.where.error("has no point that its conditions allow")

    def try_first(self, choices: Iterable[Mapping[str, Scalar]]) -> int:
        """Propose these before all others, where nothing is known of them; how many."""
        count = 0
        for chosen in choices:
            spec = self._spec(chosen)
            if spec is not None and not self._is_old(spec):
                self._enqueue(chosen)
                count += 1
        return count

    def learn(
        self,
        tried: Iterable[tuple[Mapping[str, Scalar], TrialResult]],
        curves: Curves,
    ) -> int:
        """Take in earlier trials of the very same identity, by the values of their points.

        What lies outside the region, or ran in another setting, is passed over; how many had a
        score. One that was stopped teaches by its curve, in ``curves`` by spec id.
        """
        count = 0
        for values, result in tried:
            chosen = self.region.chosen(values)
            spec = None if chosen is None else self._spec(chosen)
            if chosen is None or spec is None or spec.id != result.spec_id:
                continue
            self._known.add(spec.id)
            stopped = result.status is Status.STOPPED
            curve = list(best_so_far(curves.get(spec.id, {})).values()) if stopped else []
            count += self._taught(chosen, result.best_score, curve)
        return count

    def _taught(
        self, chosen: Mapping[str, Scalar], score: float | None, curve: Sequence[float]
    ) -> bool:
        """Tell the sampler of a trial that it has not proposed, ``curve`` where that was stopped;
        whether it had any score."""
        if curve and not self._prunes:
            score = curve[-1]
        self._inner.add_evaluated_point(
            self._sampled(chosen),
            score,
            error=score is None and not curve,
            pruned=bool(curve) and self._prunes,
            intermediate_values=list(curve),
        )
        return score is not None or bool(curve)

    def next(self, trial_id: str) -> TrialSpec | None:
        """A spec that was not tried yet; None once there is none, or the limit is reached."""
        if self._again:
            self._resumed[trial_id] = self._again.pop(0)
            return self._resumed[trial_id]
        if self.is_at_its_end:
            return None
        for attempt in range(_DEAD_ENDS):
            if attempt % _TRIES == _TRIES - 1 and not self._enqueue_untried():
                return None
            self._tries += 1
            inner_id = f"{trial_id}.{self._tries}"
            spec = self._spec(self._values(self._inner.suggest(inner_id)))
            if spec is None or self._is_old(spec):
                self._inner.on_trial_complete(inner_id, error=True)
            else:
                self._asked[trial_id] = inner_id
                self.specs[spec.id] = spec
                return spec
        return None

    def reported(self, trial_id: str, evaluation: int, score: float) -> None:
        """A score on the way, at the trial's so many-th evaluation; of one that an earlier command
        proposed the sampler hears at its end."""
        self._curves.setdefault(trial_id, {})[evaluation] = score
        inner_id = self._asked.get(trial_id)
        if inner_id is not None:
            self._inner.on_trial_result(inner_id, {SCORE: score, "training_iteration": evaluation})

    def ended(self, trial_id: str, result: TrialResult | None) -> None:
        """What became of it; None where it was stopped on its way, which Optuna calls pruned.

        Samplers but TPE learn from finished trials alone, so for them its latest score stands.
        """
        inner_id, resumed = self._asked.pop(trial_id, None), self._resumed.pop(trial_id, None)
        curve = list(self._curves.pop(trial_id, {}).values())
        finished = result is not None and result.status is Status.FINISHED
        score = result.best_score if result and finished else None
        if resumed is not None:
            if chosen := self.region.chosen(resumed.point.values):
                self._taught(chosen, score, [] if result else curve)
        elif inner_id is None:
            return
        elif result is None:
            told = {SCORE: curve[-1]} if curve and not self._prunes else None
            self._inner.on_trial_complete(inner_id, told)
        elif score is not None:
            self._inner.on_trial_complete(inner_id, {SCORE: score})
        else:
            self._inner.on_trial_complete(inner_id, error=True)

    def _is_old(self, spec: TrialSpec) -> bool:
        return spec.id in self.specs or spec.id in self._known

    def _spec(self, chosen: Mapping[str, Scalar]) -> TrialSpec | None:
        if not self.region.allows(chosen):
            return None
        try:
            return self._spec_of(self.region.point(chosen))
        except UserError:
            return None

    def _values(self, sampled: Mapping[str, Any]) -> dict[str, Scalar]:
        return {name: d.value(sampled[name]) for name, d in self._dimensions.items()}

    def _sampled(self, chosen: Mapping[str, Scalar]) -> dict[str, Any]:
        return {name: d.sampled(chosen[name]) for name, d in self._dimensions.items()}

    def _enqueue(self, chosen: Mapping[str, Scalar]) -> None:
        self._study.enqueue_trial(self._sampled(chosen))

    def _enqueue_untried(self) -> bool:
        """Have a point of a finite region asked that was not; False where all were."""
        if not self.region.is_finite:
            return True
        if self._untried is None:
            self._untried = list(self.region.choices())
        while self._untried:
            spec = self._spec(self._untried[-1])
            if spec is not None and not self._is_old(spec):
                self._enqueue(self._untried[-1])
                return True
            self._untried.pop()
        return False
