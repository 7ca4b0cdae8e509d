"""What a trial reads, sent through a bucket to a machine that has none of it."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from embedsearch import sources
from embedsearch.bucket import Bucket
from embedsearch.encoder.backbone import fingerprint
from embedsearch.errors import UserError
from embedsearch.place import Place
from embedsearch.records import Source, TrialSpec
from tests.conftest import make_point

Make = Callable[..., Any]


@pytest.fixture(autouse=True)
def _nothing_published() -> None:
    sources._publish.cache_clear()


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    return Place(Bucket(f"file://{tmp_path}/bucket"))


@pytest.fixture
def spec(make_setting: Make) -> TrialSpec:
    spec: TrialSpec = make_setting().spec(make_point())
    return spec


def locations(spec: TrialSpec) -> list[Path]:
    return [Path(source.location) for source in (spec.backbone, spec.corpus, spec.dev)]


def test_it_is_the_same_trial_elsewhere(spec: TrialSpec, place: Place) -> None:
    extra = locations(spec)[0] / "pytorch_model.bin"
    extra.write_text("weights in another format")
    sources.publish(spec, place)
    files = list(locations(spec)[0].iterdir())
    for path in locations(spec):
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    there = sources.at_hand(spec, place)
    assert there.id == spec.id and all(path.exists() for path in locations(there))
    assert all(path.is_relative_to(place.folder / "sources") for path in locations(there))
    assert fingerprint(locations(there)[0]) == spec.backbone.fingerprint
    assert len(list(locations(there)[0].iterdir())) == len(files) - 1
    assert sources.at_hand(spec, place) == there


def test_words_stay_words(spec: TrialSpec, place: Place) -> None:
    words = replace(
        spec, dev=replace(spec.dev, location="demo"), corpus=replace(spec.corpus, location="")
    )
    sources.publish(words, place)
    there = sources.at_hand(words, place)
    assert (there.dev, there.corpus) == (words.dev, words.corpus)
    assert there.backbone != words.backbone


def test_word_vectors_come_with_their_words(spec: TrialSpec, place: Place, tmp_path: Path) -> None:
    for name in ("vectors.npy", "vectors.vocab", "other.txt"):
        (tmp_path / name).write_text(name)
    words = replace(spec, backbone=Source(str(tmp_path / "vectors.npy"), "f1"))
    sources.publish(words, place)
    here = locations(sources.at_hand(words, place))[0]
    assert here.name == "vectors.npy" and here.read_text() == "vectors.npy"
    assert sorted(path.name for path in here.parent.iterdir()) == ["vectors.npy", "vectors.vocab"]


def test_a_hyperparameter_s_own_source_comes_too(
    spec: TrialSpec, place: Place, tmp_path: Path
) -> None:
    (tmp_path / "wordnet").mkdir()
    (tmp_path / "wordnet" / "data.noun").write_text("x")
    point = spec.point.reading({"augment_source": Source(str(tmp_path / "wordnet"), "w1")})
    own = replace(spec, point=point)
    sources.publish(own, place)
    shutil.rmtree(tmp_path / "wordnet")
    there = sources.at_hand(own, place)
    assert there.id == own.id
    assert Path(there.point.values["augment_source"], "data.noun").read_text() == "x"  # type: ignore[arg-type]


def test_each_content_is_put_there_once(
    spec: TrialSpec, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    put: list[str] = []
    real = Bucket.put
    monkeypatch.setattr(Bucket, "put", lambda *given: put.append(given[1]) or real(*given))
    sources.publish(spec, place)
    sources._publish.cache_clear()
    sources.publish(replace(spec, seed=1), place)
    assert len(put) == 3


def test_what_is_cut_in_the_bucket_is_put_there_again(
    spec: TrialSpec, place: Place, tmp_path: Path
) -> None:
    sources.publish(spec, place)
    [cut] = (tmp_path / "bucket" / "sources").rglob("sentences.arrow")
    cut.write_bytes(cut.read_bytes()[:100])
    moved = replace(spec, corpus=replace(spec.corpus, location=f"/moved{spec.corpus.location}"))
    with pytest.raises(UserError, match="give the same command again"):
        sources.at_hand(moved, place)
    sources._publish.cache_clear()
    sources.publish(spec, place)
    assert sources.at_hand(moved, place).corpus != moved.corpus


def test_what_was_never_sent_away_is_read_where_it_is(spec: TrialSpec, place: Place) -> None:
    assert sources.at_hand(spec, place) == spec


def test_a_folder_that_all_see_needs_nothing(spec: TrialSpec, tmp_path: Path) -> None:
    place = Place(tmp_path / "storage")
    sources.publish(spec, place)
    assert sources.at_hand(spec, place) is spec
