"""A spec, run: from its parts to one result."""

from __future__ import annotations

import copy
import functools
import logging
import time
import traceback
from contextlib import nullcontext, suppress
from pathlib import Path

import torch
from filelock import FileLock
from torch.utils import deterministic

from embedsearch import feed, remains, sources
from embedsearch.data.pairs import ScoredPairs, read_dev_pairs
from embedsearch.durable import write_json, write_text, write_whole
from embedsearch.encoder.backbone import describe
from embedsearch.encoder.backbone import fingerprint as backbone_fingerprint
from embedsearch.encoder.export import export, is_whole
from embedsearch.encoder.model import Encoder
from embedsearch.errors import RankLost, UserError
from embedsearch.evaluation.sts import cosines, score_pairs
from embedsearch.methods.base import resolve
from embedsearch.objects import Unreachable
from embedsearch.place import Place, Seat
from embedsearch.records import Measurement, Status, TrialResult, TrialSpec
from embedsearch.training.checkpoint import Checkpoint
from embedsearch.training.loop import Course, Diverged, Report, Training
from embedsearch.training.ranks import ALONE, Ranks, Together

_log = logging.getLogger(__name__)


def run(spec: TrialSpec, place: Place, report: Report, ranks: Ranks = ALONE) -> TrialResult:
    """Run ``spec``, go on where it was stopped, or give the result it already has.

    A trial that fails is a result with its reason. Two callers of one spec: the second waits for
    the first, then takes its result.
    """
    work = place.work(spec.id)
    try:
        if ranks.is_first:
            work.mkdir(parents=True, exist_ok=True)
        with FileLock(work / "lock") if ranks.is_first else nullcontext():
            told = functools.partial(_report, report, ranks)
            try:
                return _run_alone(spec, place, told, ranks)
            finally:
                if ranks.is_first:
                    place.leave(spec.id)
    except Unreachable as error:
        return TrialResult(spec.id, Status.FAILED, str(error))
    except OSError as error:
        text = f"{work} can't be written ({error.strerror or error}): make room or mend that"
        return TrialResult(spec.id, Status.FAILED, text)


def run_as_rank(spec: TrialSpec, place: Place, report: Report, seat: Seat) -> TrialResult:
    """``run``, in each of the ``spec.ranks`` processes that train a trial together.

    The first has the lock, writes and reports. All give the same result, but for a failure of one
    of them alone, which the others don't learn of: the caller ends them. Raises ``RankLost`` where
    another one is gone.
    """
    return run(spec, place, report, Together(seat, spec.device))


def _report(report: Report, ranks: Ranks, measurement: Measurement) -> None:
    ranks.first(lambda: report(measurement))


def _run_alone(spec: TrialSpec, place: Place, report: Report, ranks: Ranks) -> TrialResult:
    """``run``, in the one process that holds the trial's lock, and its other ranks."""
    result = ranks.first(lambda: _found(place, spec.id))
    if result is not None:
        for measurement in result.history:
            report(measurement)
    else:
        result = _attempt(spec, place, report, ranks)
        if result.status.is_final and ranks.is_first:
            remains.keep(place, result)
    if result.status.is_final and ranks.is_first:
        place.drop(spec.id, "state")
    return result


def _found(place: Place, spec_id: str) -> TrialResult | None:
    result = remains.found(place, spec_id)
    if result is not None and result.checkpoint and not is_whole(Path(result.checkpoint)):
        _log.warning("%s is damaged; the trial runs again", result.checkpoint)
        return None
    return result


def _attempt(spec: TrialSpec, place: Place, report: Report, ranks: Ranks) -> TrialResult:
    """A result in any case; what a failure took is charged as well.

    What failed by itself keeps no state: the disk is for trials that run. What its surroundings did
    to it (a full disk, a mistake of the user's) goes on where it was.
    """
    begun = time.monotonic()
    try:
        return _train(spec, place, report, ranks)
    except RankLost:
        raise
    except Exception as error:
        status, reason = _failure(error, spec, place)
        if not isinstance(error, OSError | UserError):
            with suppress(Unreachable):
                place.drop(spec.id, "state")
    seconds = time.monotonic() - begun
    return TrialResult(
        spec.id, status, reason, seconds=seconds, device_seconds=seconds * place.devices
    )


def _failure(error: Exception, spec: TrialSpec, place: Place) -> tuple[Status, str]:
    """What an error makes of its trial, and the reason in one sentence."""
    if isinstance(error, Diverged):
        return Status.DIVERGED, str(error)
    if isinstance(error, torch.OutOfMemoryError | MemoryError):
        values = spec.point.values
        return Status.OUT_OF_MEMORY, (
            f"out of memory at batch_size {values['batch_size']}, max_length "
            f"{values['max_length']} on {spec.backbone.name}: a (smaller) --chunk-size needs less"
        )
    if isinstance(error, UserError):
        return Status.FAILED, str(error)
    text = "".join(traceback.format_exception(error))
    with suppress(OSError, Unreachable):  # the disk may be full, and that the reason
        write_text(place.work(spec.id) / "error.txt", text)
        place.keep(spec.id, "error.txt")
    first = (str(error).strip().splitlines() or [""])[0]
    where = place.told(spec.id, "error.txt")
    return Status.FAILED, f"{type(error).__name__}: {first} (see {where})"


def _train(spec: TrialSpec, place: Place, report: Report, ranks: Ranks) -> TrialResult:
    work = place.work(spec.id)
    spec = sources.at_hand(spec, place)
    ranks.first(lambda: write_json(work / "spec.json", spec.to_json()))
    _prepare(spec, ranks)
    method_class = resolve(spec.point.target)
    config = method_class.Config(**spec.point.values)
    torch.manual_seed(spec.seed)
    encoder = _encoder(spec, config.pooling)
    method = method_class(config, encoder).to(encoder.device)
    course = Course(
        config, spec.total_steps, spec.eval_steps, spec.seed, spec.precision, place.save_s,
        place.rungs, chunk_size=spec.chunk_size,
    )  # fmt: skip
    batch_at = feed.batches(spec, method, config, encoder.tokenizer, place.cache)
    ranks.first(lambda: place.fetch(spec.id, "state"))
    checkpoint = Checkpoint(work / "state", ranks, lambda: place.keep(spec.id, "state"))
    training = Training(encoder, method, batch_at, course, checkpoint, ranks)
    dev = _dev_pairs(spec.dev.location, spec.dev.fingerprint)
    progress = training.run(report, lambda encoder: ranks.first(lambda: dev_score(encoder, dev)))
    similarities = ranks.first(
        lambda: training.evaluated(lambda encoder: cosines(encoder.embed, dev))
    )
    best = work / "best"
    ranks.first(lambda: write_whole(best, lambda draft: export(encoder, draft, method.companion())))
    ranks.first(lambda: place.keep(spec.id, "best"))
    return TrialResult(
        spec.id,
        Status.FINISHED,
        start_score=progress.start_score,
        best_score=progress.best_score,
        best_step=progress.best_step,
        history=tuple(progress.history),
        seconds=progress.seconds,
        device_seconds=progress.seconds * place.devices,
        checkpoint=str(best),
        similarities=similarities,
    )


def dev_score(encoder: Encoder, pairs: ScoredPairs) -> float:
    """Spearman × 100 on ``pairs``; raises ``Diverged`` where it does not exist."""
    score = score_pairs(encoder.embed, pairs)
    if score.spearman is None:
        raise Diverged(f"no dev score: {score.reason}")
    return score.spearman


def _prepare(spec: TrialSpec, ranks: Ranks) -> None:
    """Set what a reused worker may still hold from the trial before."""
    if spec.ranks != ranks.size:
        raise UserError(
            f"the trial is of {spec.ranks} devices, and here is one process: run it by "
            "`embedsearch sweep`, or give --gpus-per-trial 1"
        )
    torch.set_num_threads(max(1, spec.threads // spec.ranks))
    if spec.device == "cpu":
        torch.use_deterministic_algorithms(True)
        deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]
        torch.set_flush_denormal(True)  # GELU's gradient is full of them, and slow on them
    elif not torch.cuda.is_available():
        raise UserError("the trial wants a GPU, and its worker sees none: give --device cpu")
    else:
        torch.cuda.empty_cache()  # for trials that share the card


def _encoder(spec: TrialSpec, pooling: str) -> Encoder:
    loaded = _backbone(_backbone_key(spec))
    encoder = Encoder(copy.deepcopy(loaded.transformer), loaded.tokenizer, loaded.facts, pooling)
    return encoder.to(spec.device)


def _backbone_key(spec: TrialSpec) -> tuple[str, str]:
    return spec.backbone.location, spec.backbone.fingerprint


@functools.lru_cache(maxsize=2)
def _backbone(key: tuple[str, str]) -> Encoder:
    """A backbone as loaded, kept for the next trial of this worker."""
    location, fingerprint = key
    facts = describe(location)
    feed.must_match(location, backbone_fingerprint(Path(facts.location)), fingerprint)
    return Encoder.load(location, "mean")


@functools.lru_cache(maxsize=4)
def _dev_pairs(location: str, fingerprint: str) -> ScoredPairs:
    pairs = read_dev_pairs(location)
    feed.must_match(location, pairs.fingerprint, fingerprint)
    return pairs
