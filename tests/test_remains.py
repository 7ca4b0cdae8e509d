"""What is left of a trial, until a store has it."""

from pathlib import Path

import pytest

from embedsearch import remains
from embedsearch.bucket import Bucket
from embedsearch.durable import write_text
from embedsearch.place import Place
from embedsearch.records import Status, TrialResult

ENDED = TrialResult("abc", Status.FINISHED, best_score=50.0, seconds=3.0, device_seconds=6.0)


@pytest.fixture
def in_bucket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    return Place(Bucket(f"file://{tmp_path}/bucket"))


def ended(place: Place) -> TrialResult:
    """As a trial ends that has a checkpoint."""
    best = place.work("abc") / "best"
    write_text(best / "config.json", "{}")
    place.keep("abc", "best")
    result = TrialResult.from_json({**ENDED.to_json(), "checkpoint": str(best)})
    remains.keep(place, result)
    place.leave("abc")
    return result


def test_lost_checkpoint_is_found_and_forgotten(tmp_path: Path) -> None:
    place = Place(tmp_path / "storage")
    ended(place)
    assert not remains.has_lost_checkpoint(place, "abc")
    remains.tidy(place, ["abc"])
    assert remains.has_lost_checkpoint(place, "abc") and remains.found(place, "abc")
    remains.forget(place, "abc")
    assert not remains.has_lost_checkpoint(place, "abc") and not remains.found(place, "abc")


def test_a_folder_has_it_at_hand(tmp_path: Path) -> None:
    result = ended(Place(tmp_path / "storage"))
    assert remains.at_hand(Place(tmp_path / "storage"), result) is result


def test_another_machine_finds_it_and_fetches_the_checkpoint(
    in_bucket: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = ended(in_bucket)
    assert not list(in_bucket.work("abc").iterdir())
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "elsewhere"))
    assert remains.found(in_bucket, "abc") == result
    here = Path(str(remains.at_hand(in_bucket, result).checkpoint))
    assert here.is_relative_to(tmp_path / "elsewhere")
    assert (here / "config.json").read_text() == "{}"
    remains.tidy(in_bucket, ["other", "abc"])
    assert not here.exists()
    assert not [path for path in (tmp_path / "bucket").rglob("*") if path.is_file()]
    assert remains.found(in_bucket, "abc") is None


def test_what_no_store_has_stays(in_bucket: Place) -> None:
    result = ended(in_bucket)
    remains.tidy(in_bucket, [])
    remains.tidy(in_bucket, ["other"])
    assert remains.found(in_bucket, "abc") == result


@pytest.mark.parametrize("damage", ["", "{"])
def test_a_damaged_checkpoint_is_a_failure_that_is_run_again(
    damage: str, in_bucket: Place, tmp_path: Path
) -> None:
    result = ended(in_bucket)
    [config] = (tmp_path / "bucket").rglob("config.json")
    config.write_text(damage or "[]")
    failed = remains.at_hand(in_bucket, result)
    assert (failed.status, failed.best_score, failed.checkpoint) == (Status.FAILED, None, None)
    assert (failed.seconds, failed.device_seconds) == (3.0, 6.0)
    assert remains.found(in_bucket, "abc") is None


def test_a_trial_without_a_checkpoint_is_found(in_bucket: Place) -> None:
    diverged = TrialResult("abc", Status.DIVERGED, "NaN")
    in_bucket.work("abc").mkdir(parents=True)
    remains.keep(in_bucket, diverged)
    assert remains.found(in_bucket, "abc") == diverged == remains.at_hand(in_bucket, diverged)
