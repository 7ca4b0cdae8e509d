"""The methods that are compared: what the store has of each."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from numpy.typing import NDArray
from rich.console import Console

from embedsearch.data.pairs import read_dev_pairs
from embedsearch.errors import UserError
from embedsearch.labels import count
from embedsearch.records import Scalar
from embedsearch.report.rows import show_line
from embedsearch.report.standings import Standing, Standings
from embedsearch.report.standings_table import show_standings
from embedsearch.sweep import search
from embedsearch.sweep.catalogue import find_space, first_grid
from embedsearch.tracking.group import Group
from embedsearch.tracking.ledger import StoreLedger
from embedsearch.tracking.ranking import Trial, common_groups, rank
from embedsearch.tracking.store import Store


def show_contenders(
    methods: Sequence[str],
    filters: Mapping[str, str | None],
    *,
    figure: Path | None,
    store: str | None,
    as_json: bool,
) -> int:
    """Print how the methods stand, draw it where that is asked for, and give the exit code."""
    if figure is not None:
        from embedsearch.report.figures import budget, style

        style.must_be_png(figure)
    standings = find_standings(
        list(dict.fromkeys(methods)), filters, StoreLedger(Store.open(store))
    )
    found = standings.to_json()
    if figure is not None:
        style.save(budget.budget_figure(found["methods"]), figure)
    if as_json:
        sys.stdout.write(json.dumps(found, indent=1, allow_nan=False, ensure_ascii=False) + "\n")
        return 0
    show_standings(console := Console(), found)
    if figure is not None:
        show_line(console, f"figure: {figure}")
    return 0


def find_standings(
    methods: Sequence[str], filters: Mapping[str, str | None], ledger: StoreLedger
) -> Standings:
    """What the store has of ``methods``, each in the group that it can be compared in.

    Raises ``UserError`` for an unknown method, and where not even one can be compared.
    """
    for method in methods:
        find_space(method)
    trials = {method: _trials(ledger, method, filters) for method in methods}
    groups = common_groups(trials)
    left_out = {m: _why_not(m, trials[m]) for m in methods if m not in groups}
    if not groups:
        raise UserError(f"nothing to compare: {'; '.join(left_out.values())}")
    shared = max(groups.values(), key=list(groups.values()).count)
    standings = [
        _standing(method, group, shared, [t for t in trials[method] if t.group == group], ledger)
        for method, group in groups.items()
    ]
    return Standings(standings, left_out, _gold(standings, trials, shared, ledger))


def _trials(ledger: StoreLedger, method: str, filters: Mapping[str, str | None]) -> list[Trial]:
    preset, backbone, dev = filters["preset"], filters["backbone"], filters["dev"]
    found = ledger.trials(method, preset=preset, backbone=backbone)
    return [trial for trial in found if dev in (None, trial.group.dev)]


def _standing(
    method: str, group: Group, shared: Group, trials: Sequence[Trial], ledger: StoreLedger
) -> Standing:
    search_trials = [trial for trial in trials if not trial.confirms]
    scored = [(t, t.score) for t in search_trials if t.score is not None]
    ranking = rank(trials, group.key)
    best = ranking.entries[0]
    known = ledger.similarities(method, [trial.spec_id for trial in best.counted])
    shares, why = _importance([t.values for t, _ in scored], [score for _, score in scored])
    return Standing(
        method=method,
        group=str(group),
        apart=group.apart(shared),
        searched=[score for _, score in scored],
        unscored=len(search_trials) - len(scored),
        device_seconds=sum(trial.device_seconds for trial in search_trials),
        values={n: v for n, v in best.leader.shown.items() if n in ranking.varying},
        scores=best.scores,
        seeds=[trial.seed for trial in best.counted],
        similarities=[known[t.spec_id] for t in best.counted if t.spec_id in known],
        confirmed=bool(best.fresh),
        trains=group.total_steps > 0,
        importance=shares,
        why=why,
    )


def _importance(
    points: Sequence[Mapping[str, Scalar]], scores: Sequence[float]
) -> tuple[Mapping[str, float], str]:
    """The share of each hyperparameter, or why there is none."""
    axes = search.tried(points)
    if not axes:
        return {}, "all trials have the same values"
    if len(points) < search.FEWEST:
        return {}, f"{count(len(points), 'trial')} with a score, and it takes {search.FEWEST}"
    return search.importance(points, scores, axes), ""


def _gold(
    standings: Sequence[Standing],
    trials: Mapping[str, Sequence[Trial]],
    shared: Group,
    ledger: StoreLedger,
) -> NDArray[Any] | None:
    """The gold scores of the dev pairs; None where no similarities are known, or the pairs are not
    where they were, or are others now."""
    if not any(one.similarities for one in standings):
        return None
    of_group = (t for found in trials.values() for t in found if t.group == shared)
    dev = ledger.spec(next(of_group).run_id).dev
    try:
        pairs = read_dev_pairs(dev.location)
    except (UserError, OSError):
        return None
    return pairs.gold if pairs.fingerprint == dev.fingerprint else None


def _why_not(method: str, trials: Sequence[Trial]) -> str:
    groups = dict.fromkeys(str(t.group) for t in trials if t.score is not None)
    if not groups:
        command = f"python -m embedsearch.sweep {method} --grid {first_grid(find_space(method))}"
        return f"no {method} trial has a score, run `{command}`"
    return f"its trials are on other dev pairs or by another protocol: {'; '.join(groups)}"
