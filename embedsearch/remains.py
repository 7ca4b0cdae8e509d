"""What is left of a trial that has ended, until a store has it."""

from __future__ import annotations

import json
import logging
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

from filelock import FileLock

from embedsearch.durable import remove_drafts, remove_whole, write_json
from embedsearch.place import Place, in_bucket
from embedsearch.records import Status, TrialResult

_log = logging.getLogger(__name__)
_RESULT, _BEST = "result.json", "best"


def keep(place: Place, result: TrialResult) -> None:
    """Write down how a trial ended, whatever becomes of who asked for it."""
    write_json(place.work(result.spec_id) / _RESULT, result.to_json())
    place.keep(result.spec_id, _RESULT)


def found(place: Place, spec_id: str) -> TrialResult | None:
    """The result that is known; not where a bucket has lost the checkpoint that belongs to it.

    What killed writers left is removed: nobody else may write there.
    """
    remove_drafts(place.work(spec_id))
    place.fetch(spec_id, _RESULT)
    known = finished(place.work(spec_id))
    if place.bucket and known and known.checkpoint:
        return known if place.bucket.has(in_bucket(spec_id, _BEST)) else None
    return known


def finished(work: Path) -> TrialResult | None:
    """The final result in a trial's ``work`` folder; None where there is none that can be read."""
    try:
        return TrialResult.from_json(json.loads((work / _RESULT).read_text("utf-8")))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        _log.warning("%s can't be read (%s); the trial runs again", work / _RESULT, error)
        return None


def at_hand(place: Place, result: TrialResult) -> TrialResult:
    """``result`` with its checkpoint on this machine; a failure where a bucket has lost it."""
    if not place.bucket or result.checkpoint is None:
        return result
    best = _fetched(place, result.spec_id)
    best.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(best.with_name(f"{best.name}.lock")):
        if place.bucket.get(in_bucket(result.spec_id, _BEST), best):
            return replace(result, checkpoint=str(best))
    why = f"its checkpoint is damaged in {place.bucket.address}: give the same command again"
    return TrialResult(
        result.spec_id,
        Status.FAILED,
        why,
        seconds=result.seconds,
        device_seconds=result.device_seconds,
    )


def has_lost_checkpoint(place: Place, spec_id: str) -> bool:
    """Whether a finished trial's checkpoint has left its work folder, for a store to keep.

    With a bucket that shows when the trial is to run (``found``).
    """
    known = finished(place.work(spec_id))
    return (
        known is not None and known.checkpoint is not None and not Path(known.checkpoint).is_dir()
    )


def tidy(place: Place, spec_ids: Collection[str]) -> None:
    """Drop the best checkpoints of trials, once a store has them; of a bucket all that it has of
    such trials."""
    for spec_id in spec_ids:
        remove_whole(place.work(spec_id) / _BEST)
        remove_whole(_fetched(place, spec_id))
    if place.bucket and spec_ids:
        there = place.bucket.names(in_bucket()) if len(spec_ids) > 1 else spec_ids
        for spec_id in set(there).intersection(spec_ids):
            place.bucket.remove(in_bucket(spec_id))


def forget(place: Place, spec_id: str) -> None:
    """Drop a result, so that the trial runs again."""
    (place.work(spec_id) / _RESULT).unlink(missing_ok=True)


def _fetched(place: Place, spec_id: str) -> Path:
    """Where a checkpoint is that was fetched for a store, out of the way of who may train it."""
    return place.folder / "fetched" / spec_id
