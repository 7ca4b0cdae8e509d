"""A spec, run: from its parts to one result."""

from __future__ import annotations

import copy
import functools
import json
import logging
import math
import sys
import traceback
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import torch
from filelock import FileLock
from torch.utils import deterministic

from embedsearch import feed
from embedsearch.data.pairs import ScoredPairs, read_dev_pairs
from embedsearch.durable import remove_drafts, remove_whole, write_json, write_text, write_whole
from embedsearch.encoder.backbone import BackboneFacts, describe
from embedsearch.encoder.backbone import fingerprint as backbone_fingerprint
from embedsearch.encoder.export import export
from embedsearch.encoder.model import Encoder
from embedsearch.errors import UserError
from embedsearch.evaluation.sts import score_pairs
from embedsearch.methods.base import Method, MethodConfig, resolve
from embedsearch.place import Place
from embedsearch.records import Point, Source, Status, TrialResult, TrialSpec, content_id
from embedsearch.training.checkpoint import Checkpoint
from embedsearch.training.loop import Course, Diverged, Report, Training

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Setting:
    """What all trials of one command share; with a point it makes a spec."""

    preset: str
    backbone: Source
    facts: BackboneFacts
    corpus: Source
    rows: int
    """Sentences in the corpus, or documents where the method needs pairs."""
    dev: Source
    steps: int | None
    epochs: float | None
    eval_steps: int
    seed: int
    device: str
    precision: str
    threads: int
    cache: Path
    """Where an epoch of pairs is mined."""

    def spec(self, point: Point) -> TrialSpec:
        """The trial of ``point``; ``UserError`` where the point can't work on the backbone."""
        method = resolve(point.target)
        config = method.Config(**point.values)
        method.check(config, self.facts)
        trains = method.needs != "nothing"
        return TrialSpec(
            point=point.reading(config.sources()),
            seed=self.seed,
            preset=self.preset,
            backbone=self.backbone,
            corpus=self.corpus if trains else Source("", "", "none"),
            dev=self.dev,
            total_steps=self._total_steps(method, config),
            eval_steps=self.eval_steps,
            device=self.device,
            precision=self.precision,
            threads=self.threads,
            code=_code_of(method),
        )

    def _total_steps(self, method: type[Method], config: MethodConfig) -> int:
        """Pairs are mined for their number only where the length is said in epochs of them."""
        if method.needs == "nothing":
            return 0
        if method.fitted:
            return 1
        if method.needs == "pairs" and self.steps is not None:
            return self.steps
        an_epoch = feed.steps_per_epoch(
            method, config, self.corpus, self.rows, self.seed, self.cache
        )
        return self.steps or max(1, math.floor((self.epochs or 1) * an_epoch))


def _code_of(method: type[Method]) -> str:
    """What a method's module says, so that an edited one is another; of the package's own its
    ``revision``, empty for the first."""
    module = sys.modules[method.__module__]
    if module.__name__.startswith("embedsearch.") or not module.__file__:
        return f"revision {method.revision}" if method.revision else ""
    return content_id(Path(module.__file__).read_text(encoding="utf-8"))


def run(spec: TrialSpec, place: Place, report: Report) -> TrialResult:
    """Run ``spec``, go on where it was stopped, or give the result it already has.

    A trial that fails is a result with its reason. Two callers of one spec: the second waits for
    the first, then takes its result.
    """
    work = place.work(spec.id)
    try:
        work.mkdir(parents=True, exist_ok=True)
        with FileLock(work / "lock"):
            return _run_alone(spec, place, report)
    except OSError as error:
        text = f"{work} can't be written ({error.strerror or error}): make room or mend that"
        return TrialResult(spec.id, Status.FAILED, text)


def _run_alone(spec: TrialSpec, place: Place, report: Report) -> TrialResult:
    """``run``, in the one process that holds the trial's lock."""
    work = place.work(spec.id)
    remove_drafts(work)
    result = finished(work)
    if result is not None:
        for measurement in result.history:
            report(measurement)
    else:
        result = _attempt(spec, place, report)
        if result.status.is_final:
            write_json(work / "result.json", result.to_json())
    if result.status.is_final:
        Checkpoint(work / "state").remove()
    return result


def finished(work: Path) -> TrialResult | None:
    """The final result in a trial's ``work`` folder; None where there is none that can be read."""
    try:
        return TrialResult.from_json(json.loads((work / "result.json").read_text("utf-8")))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        _log.warning("%s can't be read (%s); the trial runs again", work / "result.json", error)
        return None


def has_lost_checkpoint(place: Place, spec_id: str) -> bool:
    """Whether a finished trial's checkpoint has left its work folder, for a store to keep."""
    known = finished(place.work(spec_id))
    return (
        known is not None and known.checkpoint is not None and not Path(known.checkpoint).is_dir()
    )


def tidy(place: Place, spec_id: str) -> None:
    """Drop the best checkpoint from the work folder, once the store has it."""
    remove_whole(place.work(spec_id) / "best")


def forget(place: Place, spec_id: str) -> None:
    """Drop a result, so that the trial runs again."""
    (place.work(spec_id) / "result.json").unlink(missing_ok=True)


def _attempt(spec: TrialSpec, place: Place, report: Report) -> TrialResult:
    """Its result. What failed by itself keeps no state: the disk is for trials that run; what its
    surroundings did to it (a full disk, a mistake of the user's) goes on where it was.
    """
    work = place.work(spec.id)
    try:
        return _train(spec, place, report)
    except Diverged as error:
        return TrialResult(spec.id, Status.DIVERGED, str(error))
    except (torch.OutOfMemoryError, MemoryError):
        Checkpoint(work / "state").remove()
        values = spec.point.values
        reason = (
            f"out of memory at batch_size {values['batch_size']}, max_length "
            f"{values['max_length']} on {spec.backbone.name}"
        )
        return TrialResult(spec.id, Status.OUT_OF_MEMORY, reason)
    except UserError as error:
        return TrialResult(spec.id, Status.FAILED, str(error))
    except Exception as error:
        with suppress(OSError):  # the disk may be full, and that the reason
            write_text(work / "error.txt", traceback.format_exc())
        if not isinstance(error, OSError):
            Checkpoint(work / "state").remove()
        first = (str(error).strip().splitlines() or [""])[0]
        reason = f"{type(error).__name__}: {first} (see {work / 'error.txt'})"
        return TrialResult(spec.id, Status.FAILED, reason)


def _train(spec: TrialSpec, place: Place, report: Report) -> TrialResult:
    work = place.work(spec.id)
    write_json(work / "spec.json", spec.to_json())
    _prepare(spec)
    method_class = resolve(spec.point.target)
    config = method_class.Config(**spec.point.values)
    torch.manual_seed(spec.seed)
    encoder = _encoder(spec, config.pooling)
    method = method_class(config, encoder).to(encoder.device)
    course = Course(
        config, spec.total_steps, spec.eval_steps, spec.seed, spec.precision, place.save_s
    )
    batch_at = feed.batches(spec, method, config, encoder.tokenizer, place.cache)
    training = Training(encoder, method, batch_at, course, Checkpoint(work / "state"))
    dev = _dev_pairs(spec.dev.location, spec.dev.fingerprint)
    progress = training.run(report, lambda encoder: dev_score(encoder, dev))
    write_whole(work / "best", lambda draft: export(encoder, draft, method.companion()))
    return TrialResult(
        spec.id,
        Status.FINISHED,
        start_score=progress.start_score,
        best_score=progress.best_score,
        best_step=progress.best_step,
        history=tuple(progress.history),
        seconds=progress.seconds,
        device_seconds=progress.seconds * place.devices,
        checkpoint=str(work / "best"),
    )


def dev_score(encoder: Encoder, pairs: ScoredPairs) -> float:
    """Spearman × 100 on ``pairs``; raises ``Diverged`` where it does not exist."""
    score = score_pairs(encoder.embed, pairs)
    if score.spearman is None:
        raise Diverged(f"no dev score: {score.reason}")
    return score.spearman


def _prepare(spec: TrialSpec) -> None:
    """Set what a reused worker may still hold from the trial before."""
    torch.set_num_threads(spec.threads)
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
