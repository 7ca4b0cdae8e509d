from importlib.util import find_spec
from pathlib import Path

import pytest

from embedsearch.cli import main
from embedsearch.cli.snapshot import _bounds
from embedsearch.errors import UserError


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    capsys.readouterr()
    with pytest.raises(SystemExit) as end:
        main(["snapshot", *words])
    said = capsys.readouterr()
    return int(end.value.code or 0), said.out, said.err


def test_nothing_recorded_makes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys)
    assert (code, out) == (1, "")
    assert "nothing is recorded" in err
    assert list(tmp_path.iterdir()) == []


def test_keep_is_not_for_pulling(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, "--pull", "--keep", "2")
    assert code == 2
    assert err.count("\n") == 1


def test_a_bound_is_a_number() -> None:
    assert _bounds(["2", "frozen=0"]) == {None: 2, "frozen": 0}
    with pytest.raises(UserError, match="--keep frozen=all: give a number"):
        _bounds(["frozen=all"])


@pytest.mark.skipif(find_spec("dvc") is None, reason="the extra 'dvc' is not installed")
def test_a_mistake_is_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "--pull")
    assert (code, out) == (2, "")
    assert err.startswith("error: a snapshot is committed with git")
    assert list(tmp_path.iterdir()) == []
