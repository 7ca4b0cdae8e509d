"""A trial by way of a bucket: what one machine left, another goes on from."""

import json
import os
import shutil
from collections.abc import Callable
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from embedsearch import objects, remains, sources, trial
from embedsearch.bucket import Bucket
from embedsearch.place import Place
from embedsearch.records import Measurement, Status, TrialResult, TrialSpec
from embedsearch.training.loop import Training
from tests.conftest import make_point
from tests.faults import STOPPED, contents, in_a_process, without_clocks

Make = Callable[..., Any]


class Lost(BaseException):
    """A machine that is no more."""


@pytest.fixture
def place(tmp_path: Path) -> Place:
    sources._publish.cache_clear()
    return Place(Bucket(f"file://{tmp_path}/bucket"), save_s=0)


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """From here on this is another one, with nothing of its own."""

    def be(name: str) -> Path:
        trial._backbone.cache_clear()
        trial._dev_pairs.cache_clear()
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / name))
        return tmp_path / name

    return be


def run(spec: TrialSpec, place: Place, lost_at: int | None = None) -> TrialResult:
    def report(measurement: Measurement) -> None:
        if measurement.step == lost_at:
            raise Lost

    return trial.run(spec, place, report)


def numbers(result: TrialResult) -> dict[str, Any]:
    """All that must be equal to the bit, the encoder among it."""
    encoder = contents(Path(str(result.checkpoint)))
    return without_clocks({**result.to_json(), "checkpoint": encoder})


@pytest.mark.parametrize("damaged", [False, True])
def test_another_machine_goes_on_to_the_same_numbers(
    damaged: bool, make_setting: Make, place: Place, machine: Callable[[str], Path],
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    spec = make_setting(steps=8).spec(make_point())
    wanted = numbers(run(spec, Place(tmp_path / "alone")))
    first = machine("first")
    sources.publish(spec, place)
    with pytest.raises(Lost):
        run(spec, place, lost_at=6)
    shutil.rmtree(first)
    for source in (spec.backbone, spec.corpus, spec.dev):
        path = Path(source.location)
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    if damaged:
        cut = max((tmp_path / "bucket").rglob("encoder.safetensors"))
        cut.write_bytes(cut.read_bytes()[: cut.stat().st_size // 2])
    machine("second")
    steps: list[int] = []
    step = Training._step
    monkeypatch.setattr(Training, "_step", lambda self, n: steps.append(n) or step(self, n))
    result = run(spec, place)
    assert steps[0] == (5 if damaged else 7)
    assert sorted(path.name for path in place.work(spec.id).iterdir()) == ["lock", "spec.json"]
    machine("head")
    assert numbers(remains.at_hand(place, result)) == wanted
    assert not (tmp_path / "bucket" / "work" / spec.id / "state").exists()
    machine("third")
    assert run(spec, place) == result


def test_a_trial_that_fails_by_itself_leaves_no_state(
    make_setting: Make, place: Place, machine: Callable[[str], Path], tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    machine("first")
    spec = make_setting().spec(make_point())
    with monkeypatch.context() as patch:
        patch.setattr(trial, "export", lambda *_: 1 / 0)
        result = run(spec, place)
    assert result.status is Status.FAILED and "error.txt in file://" in result.reason
    bucket = tmp_path / "bucket" / "work" / spec.id
    assert not (bucket / "state").exists() and (bucket / "error.txt").is_dir()


def test_a_bucket_that_is_away_is_of_the_surroundings(
    make_setting: Make, place: Place, machine: Callable[[str], Path], tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    machine("first")
    monkeypatch.setattr(objects, "PAUSES_S", (0, 0))
    spec = make_setting(steps=6).spec(make_point())
    wanted = run(spec, Place(tmp_path / "alone"))
    for fails_after in (0, 2, 5, 9):
        with monkeypatch.context() as patch:
            calls, opened = count(), objects._open

            def away(address: str) -> Any:
                if next(calls) >= fails_after:  # noqa: B023
                    raise OSError("no route to host")
                return opened(address)  # noqa: B023

            patch.setattr(objects, "_open", away)
            result = run(spec, place)
        assert result.status is Status.FAILED and "no route to host" in result.reason
        assert "give the same command again" in result.reason
    assert run(spec, place).best_score == wanted.best_score


def killed_job(folder: Path, number: int, half: bool) -> None:
    """The trial of ``spec.json`` by way of a bucket; this process ends at a change of it."""
    from tests.test_bucket import Breaking

    os.environ["XDG_CACHE_HOME"] = str(folder / "caches")
    spec = TrialSpec.from_json(json.loads((folder.parent / "spec.json").read_text()))
    place = Place(Bucket(f"file://{folder}/bucket"), save_s=0)
    filesystem, root = objects._open(place.bucket.address)  # type: ignore[union-attr]
    broken = Breaking(filesystem, number, half, partial(os._exit, STOPPED))
    vars(objects)["_open"] = lambda _: (broken, root)
    result = remains.at_hand(place, trial.run(spec, place, lambda _: None))
    assert result.checkpoint, result.reason
    ended = numbers(result)
    remains.tidy(place, [spec.id])
    left = [str(path) for path in (folder / "bucket").rglob("*") if path.is_file()]
    (folder / "told.json").write_text(json.dumps([broken.changes, ended, left]))


@pytest.mark.parametrize(
    "every", [48, pytest.param(1, marks=[pytest.mark.slow, pytest.mark.timeout(1200)])]
)
def test_killed_at_a_change_of_the_bucket(every: int, make_setting: Make, tmp_path: Path) -> None:
    """Whichever it is, and half way through: the same command again ends the same."""
    spec = make_setting(steps=6).spec(make_point())
    (tmp_path / "spec.json").write_text(json.dumps(spec.to_json()))

    def told(name: str, number: int = 0, half: bool = False) -> Any:
        (tmp_path / name).mkdir(exist_ok=True)
        code = in_a_process(killed_job, tmp_path / name, number, half)
        assert code in (0, STOPPED), (tmp_path / name / "said.txt").read_text()
        path = tmp_path / name / "told.json"
        return json.loads(path.read_text()) if path.exists() else None

    changes, ended, left = told("whole")
    assert changes > 15 and left == []
    for number in range(1, changes + 1, every):
        for half in (False, True):
            name = f"{number}-{half}"
            told(name, number, half)
            found = told(name)
            assert found is not None and found[1:] == [ended, []], f"killed at {name}"
