"""What is put into a bucket is there whole or not at all, whoever is killed, late or twice."""

import json
import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from embedsearch import objects
from embedsearch.bucket import Bucket, files_of
from embedsearch.errors import UserError
from embedsearch.objects import Unreachable

Contents = dict[str, bytes]


class Killed(BaseException):
    """A process that is no more."""


class Breaking:
    """A file system that breaks at its ``number``-th change: before it, or half way through."""

    def __init__(self, inner: Any, number: int, half: bool, error: Callable[[], BaseException]):
        self.inner, self.number, self.half, self.error = inner, number, half, error
        self.changes = 0

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.inner, name)
        if name not in ("open_output_stream", "delete_file", "delete_dir"):
            return found

        def change(path: str) -> Any:
            self.changes += 1
            if self.changes != self.number:
                return found(path)
            if self.half and name == "open_output_stream":
                return Halving(found(path), self.error)
            raise self.error()

        return change


class Halving:
    def __init__(self, stream: Any, error: Callable[[], BaseException]) -> None:
        self.stream, self.error = stream, error

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: Any) -> None:
        self.stream.close()

    def write(self, block: bytes) -> None:
        self.stream.write(block[: len(block) // 2])
        raise self.error()


@pytest.fixture
def bucket(tmp_path: Path) -> Bucket:
    return Bucket(f"file://{tmp_path}/bucket")


@pytest.fixture
def breaking(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Breaking]]:
    """From here on, what is opened breaks."""
    opened = objects._open

    def do(
        number: int, half: bool = False, error: Callable[[], BaseException] = Killed
    ) -> Breaking:
        filesystem, root = opened(f"file://{Path.cwd()}/bucket")
        broken = Breaking(filesystem, number, half, error)
        monkeypatch.setattr(objects, "_open", lambda _: (broken, root))
        return broken

    yield do
    monkeypatch.setattr(objects, "_open", opened)


def folder(tmp_path: Path, text: str) -> dict[str, Path]:
    made = tmp_path / "made" / text
    (made / "below").mkdir(parents=True, exist_ok=True)
    (made / "a").write_text(f"a of {text}")
    (made / "below" / "b").write_text(f"b of {text}")
    return files_of(made)


def got(bucket: Bucket, target: Path) -> str | None:
    """Whose folder is in the bucket; all of it is of one."""
    if not bucket.get("state", target):
        return None
    found = {path.relative_to(target).as_posix() for path in target.rglob("*") if path.is_file()}
    assert found == {"a", "below/b"}
    [whose] = {(target / name).read_text().split(" of ")[1] for name in found}
    return whose


def objects_of(tmp_path: Path) -> list[Path]:
    return sorted(path for path in (tmp_path / "bucket").rglob("*") if path.is_file())


def test_a_folder_and_a_file_come_back(bucket: Bucket, tmp_path: Path) -> None:
    bucket.check()
    assert not objects_of(tmp_path)
    assert got(bucket, tmp_path / "x") is None and not bucket.has("state")
    bucket.put("state", folder(tmp_path, "one"))
    assert bucket.has("state") and got(bucket, tmp_path / "x") == "one"
    alone = tmp_path / "alone.json"
    alone.write_text("{}")
    bucket.put("work/1/result.json", files_of(alone))
    assert bucket.get("work/1/result.json", tmp_path / "y") and (tmp_path / "y").read_text() == "{}"
    assert bucket.names("work") == {"1"} and bucket.names("nowhere") == set()
    bucket.remove("work/1")
    bucket.remove("work/1")
    assert bucket.names("work") == set()


def test_the_last_version_and_the_one_before_are_kept(bucket: Bucket, tmp_path: Path) -> None:
    for text in ("one", "two", "three", "four"):
        bucket.put("state", folder(tmp_path, text))
        assert got(bucket, tmp_path / "x") == text
    assert len(objects_of(tmp_path)) == 2 * 3


@pytest.mark.parametrize("half", [False, True])
def test_who_is_killed_leaves_the_old_or_the_new(
    half: bool, bucket: Bucket, breaking: Callable[..., Breaking], tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    seen = set()
    for number in range(1, 20):
        with monkeypatch.context():
            before = folder(tmp_path, "old")
            for _ in range(3):
                bucket.put("state", before)
            broken = breaking(number, half)
            try:
                bucket.put("state", folder(tmp_path, "new"))
            except Killed:
                assert broken.changes == number
            else:
                break
            finally:
                breaking(0)
            seen.add(got(bucket, tmp_path / "x"))
            for text in ("later", "last", "very last"):
                bucket.put("state", folder(tmp_path, text))
                assert got(bucket, tmp_path / "x") == text
            assert len(objects_of(tmp_path)) == 2 * 3
    assert seen == {"old", "new"} and number > 5


@pytest.mark.parametrize("whole", [2, 1])
def test_a_version_that_is_cut_in_half_is_passed_over(
    whole: int, bucket: Bucket, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for place in range(3):
        for text in ("one", "two")[-whole:]:
            bucket.put("state", folder(tmp_path, text))
        victim = sorted((tmp_path / "bucket" / "state").glob("*"))[-2:]
        found = [path for v in victim for path in ([v] if v.is_file() else sorted(v.rglob("*")))]
        damaged = [path for path in found if path.is_file()][place]
        damaged.write_bytes(damaged.read_bytes()[: damaged.stat().st_size // 2])
        assert not bucket.has("state")
        with caplog.at_level(logging.WARNING):
            assert got(bucket, tmp_path / "x") == ("one" if whole == 2 else None)
        assert "is damaged" in caplog.text
        caplog.clear()
        bucket.remove("state")


def test_the_same_size_is_not_enough(bucket: Bucket, tmp_path: Path) -> None:
    bucket.put("state", folder(tmp_path, "one"))
    [damaged] = (tmp_path / "bucket" / "state").rglob("b")
    damaged.write_text("b of two")
    assert got(bucket, tmp_path / "x") is None
    assert not objects_of(tmp_path)


@pytest.mark.parametrize("newer", [1, 2, 3])
def test_who_was_thought_lost_mixes_nothing(
    newer: int, bucket: Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It wakes up in the midst of its writing, when others have written so often."""
    bucket.put("state", folder(tmp_path, "old"))
    late, upload = folder(tmp_path, "late"), objects.Objects.upload

    def asleep(self: objects.Objects, source: Path, path: str) -> Any:
        if source == late["below/b"]:
            for number in range(newer):
                bucket.put("state", folder(tmp_path, f"newer {number}"))
                assert got(bucket, tmp_path / "x") == f"newer {number}"
        return upload(self, source, path)

    monkeypatch.setattr(objects.Objects, "upload", asleep)
    bucket.put("state", late)
    newest = f"newer {newer - 1}"
    assert got(bucket, tmp_path / "x") in ({"late", newest} if newer == 1 else {newest})


def test_what_fails_is_tried_again(
    bucket: Bucket, breaking: Callable[..., Breaking], tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(objects, "PAUSES_S", (0, 0))
    breaking(2, True, lambda: OSError("reset by peer"))
    bucket.put("state", folder(tmp_path, "one"))
    assert got(bucket, tmp_path / "x") == "one"
    monkeypatch.setattr(objects.Objects, "_write", _gone)
    with pytest.raises(
        Unreachable, match=r"getting at the bucket file:.*\(no route\).*command again"
    ):
        bucket.put("state", folder(tmp_path, "two"))
    assert got(bucket, tmp_path / "x") == "one"


def _gone(*_: Any) -> None:
    raise OSError("no route")


@pytest.mark.parametrize("part", ["../x", "/tmp/x", "a/../../x"])
def test_a_manifest_leads_nowhere_else(part: str, bucket: Bucket, tmp_path: Path) -> None:
    bucket.put("state", folder(tmp_path, "one"))
    [manifest] = (tmp_path / "bucket" / "state").glob("*.json")
    known = json.loads(manifest.read_text())
    manifest.write_text(json.dumps({part: known["a"]}))
    assert got(bucket, tmp_path / "x") is None


def test_each_bucket_has_a_folder_of_its_own(
    bucket: Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    assert bucket.folder.parent == tmp_path / "caches" / "embedsearch"
    assert bucket.folder != Bucket(bucket.address + "x").folder
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert bucket.folder.is_relative_to(tmp_path / ".cache")


def test_a_key_is_not_said_on_a_command_line() -> None:
    with pytest.raises(UserError, match="AWS_ACCESS_KEY_ID"):
        Bucket("s3://key:secret@bucket/x").check()
