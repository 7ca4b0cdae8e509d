"""What a trial reads, by way of a bucket: named there by its content, wherever it lies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from filelock import FileLock

from embedsearch.bucket import Bucket
from embedsearch.errors import UserError
from embedsearch.place import Place
from embedsearch.records import Source, TrialSpec


def publish(spec: TrialSpec, place: Place) -> None:
    """Have in the bucket of ``place``, if it has one, what ``spec`` reads from this machine."""
    if place.bucket:
        for source in _located(spec).values():
            _publish(place.bucket, source)


def at_hand(spec: TrialSpec, place: Place) -> TrialSpec:
    """``spec`` with what was published found on this machine, fetched where it is not there yet.

    It is the same trial. Raises ``UserError`` where something is neither here nor in the bucket.
    """
    bucket = place.bucket
    if not bucket:
        return spec
    found = {key: _fetched(source, bucket, place.folder) for key, source in _located(spec).items()}
    own = {key: source.location for key, source in found.items() if key in spec.point.contents}
    return replace(
        spec,
        point=replace(spec.point, values={**spec.point.values, **own}),
        backbone=found.get("backbone", spec.backbone),
        corpus=found.get("corpus", spec.corpus),
        dev=found.get("dev", spec.dev),
    )


def _located(spec: TrialSpec) -> Mapping[str, Source]:
    """The inputs that lie somewhere, by field or hyperparameter: words and hub names do not."""
    sources = {"backbone": spec.backbone, "corpus": spec.corpus, "dev": spec.dev}
    for key, content in spec.point.contents.items():
        sources[key] = Source(str(spec.point.values[key]), content)
    return {key: source for key, source in sources.items() if Path(source.location).is_absolute()}


def _name(source: Source) -> str:
    return f"sources/{source.fingerprint}/{Path(source.location).name}"


@lru_cache(maxsize=256)
def _publish(bucket: Bucket, source: Source) -> None:
    """Once in a process, for all trials that read it."""
    if not bucket.has(_name(source)):
        bucket.put(_name(source), {path.name: path for path in _files(Path(source.location))})


def _files(location: Path) -> list[Path]:
    """A model may have its weights in other formats beside it, which nobody reads here."""
    from embedsearch.encoder.backbone import sources

    if location.is_file() or (location / "config.json").is_file():
        return sources(location)
    return [path for path in sorted(location.iterdir()) if path.is_file()]


def _fetched(source: Source, bucket: Bucket, folder: Path) -> Source:
    """One that is not in the bucket may be of this machine, whose trial was never sent away."""
    copy = folder / _name(source)
    copy.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(copy.with_name(f"{copy.name}.lock")):
        if not copy.is_dir() and not bucket.get(_name(source), copy):
            if Path(source.location).exists():
                return source
            raise UserError(
                f"{source.location} is neither here nor whole in {bucket.address}: give the same "
                "command again, which puts it there"
            )
    inner = copy / copy.name
    return replace(source, location=str(inner if inner.is_file() else copy))
