"""Inputs that hurt peer tools, given to the sweep command as a user would."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from embedsearch.cli import main
from tests.here import REPLACED

Make = Callable[..., Any]
Run = Callable[..., tuple[int, Any, str]]
LINES = [f"The {a} by the {b} is quiet." for a in ("river", "bird", "wall") for b in "abcdefgh"]
PAIRS = [f"{i % 6}\tA {LINES[i]}\tA {LINES[i * 5 % 24]}" for i in range(12)]
SPACE = "method: embedsearch.methods.scd:SCD\ngrids:\n  one:\n    values:\n      alpha: {alphas}\n"


@pytest.fixture
def run(make_backbone: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str]) -> Run:  # fmt: skip
    """``sweep scd`` on a preset of seconds, its trials in this process: code, JSON, errors."""
    for name, function in REPLACED.items():
        monkeypatch.setattr(f"embedsearch.sweep.search.{name}", function)
    preset = {
        "backbone": str(make_backbone("bert")),
        "corpus": "corpus.txt",
        "dev": "dev.tsv",
        "steps": 2,
        "eval_steps": 2,
        "values": {"batch_size": 4, "pooling": "mean"},
        "methods": {"scd": {"values": {"projector_dim": 8}}},
    }
    (tmp_path / "tiny.yaml").write_text(json.dumps(preset))
    (tmp_path / "corpus.txt").write_text("\n".join(LINES), encoding="utf-8")
    (tmp_path / "dev.tsv").write_text("\n".join(PAIRS), encoding="utf-8")
    (tmp_path / "search_spaces").mkdir()
    space(tmp_path, "[0.1]")

    def run(*words: str, method: str = "scd") -> tuple[int, Any, str]:
        capsys.readouterr()
        with pytest.raises(SystemExit) as end:
            main(["sweep", method, "--preset", "tiny.yaml", "--json", *words])
        said = capsys.readouterr()
        assert "Traceback" not in said.err
        return int(end.value.code or 0), json.loads(said.out) if said.out else None, said.err

    return run


def space(folder: Path, alphas: str) -> None:
    (folder / "search_spaces" / "scd.yaml").write_text(SPACE.format(alphas=alphas))


def same_scores(run: Run) -> float:
    code, told, err = run()
    assert code == 0, err
    score: float = told["best"]["score"]
    return score


@pytest.mark.parametrize(
    ("name", "content", "finds"),
    [
        ("latin-1", "caf\xe9 by the sea\n".encode("latin-1") * 9, ["corpus.txt", "--encoding"]),
        ("cut JSON", b'{"text": "a b c"}\n{"text": "a', ["line 2"]),
        ("missing key", b'{"text": "a b c"}\n{"body": "d e f"}\n', ["line 2"]),
        ("three lines", b"a b c\nd e f\ng h i\n", ["3 sentences", "batch takes 4"]),
        ("nothing", b"\n \n\t\n", ["corpus.txt"]),
    ],
)
def test_a_corpus_that_cannot_be_read_is_one_sentence(
    name: str, content: bytes, finds: list[str], run: Run, tmp_path: Path
) -> None:
    json_lines = content.startswith(b"{")
    file = "corpus.jsonl" if json_lines else "corpus.txt"
    (tmp_path / file).write_bytes(content)
    code, told, err = run("--corpus", file)
    assert code == 2 and told is None, name
    assert err.count("error:") == 1 and all(find in err for find in finds), err
    assert not (tmp_path / "mlruns").exists(), "nothing was made for it"


def test_encoding_may_be_said(run: Run, tmp_path: Path) -> None:
    text = "\n".join(line.replace("quiet", "caf\xe9") for line in LINES)
    (tmp_path / "corpus.txt").write_bytes(text.encode("latin-1"))
    code, told, err = run("--encoding", "latin-1")
    assert code == 0 and told["best"]["score"] is not None, err


def test_line_ends_and_marks_change_nothing(run: Run, tmp_path: Path) -> None:
    """A byte order mark, CRLF, no end to the last line: the same trials."""
    plain = same_scores(run)
    for file in ("corpus.txt", "dev.tsv"):
        path = tmp_path / file
        lines = path.read_text(encoding="utf-8")
        path.write_bytes(b"\xef\xbb\xbf" + lines.replace("\n", "\r\n").encode() + b"\r\n")
    code, told, err = run()
    assert code == 0, err
    assert told["best"]["score"] == plain and "1 known" in err


def test_odd_sentences_give_finite_scores(run: Run, tmp_path: Path) -> None:
    odd = ["\u200b", "\U0001f600\U0001f680", "x" * 200_000, "nul \x00 inside", '"unclosed quote']
    (tmp_path / "corpus.txt").write_text("\n".join([*LINES, *odd]), encoding="utf-8")
    rows = [*PAIRS, '3\t"An unclosed quote\tA wall', "2\t\U0001f600\tA bird", f"1\t{'y' * 9000}\tA"]
    (tmp_path / "dev.tsv").write_text("\n".join(rows), encoding="utf-8")
    code, told, err = run()
    assert code == 0, err
    assert -100 <= told["best"]["score"] <= 100


@pytest.mark.parametrize(
    ("rows", "finds"),
    [
        (["1\tA wall"], ["dev.tsv", "line 1"]),
        (["much\tA wall\tA bird"], ["dev.tsv", "line 1", "much"]),
    ],
)
def test_broken_dev_pairs_are_one_sentence(
    rows: list[str], finds: list[str], run: Run, tmp_path: Path
) -> None:
    (tmp_path / "dev.tsv").write_text("\n".join(rows), encoding="utf-8")
    code, _, err = run()
    assert code == 2 and all(find in err for find in finds), err


@pytest.mark.parametrize("rows", [PAIRS[:1], [f"3\t{p.partition(chr(9))[2]}" for p in PAIRS]])
def test_what_has_no_correlation_is_never_a_best(rows: list[str], run: Run, tmp_path: Path) -> None:
    """One pair, or the same gold score for all."""
    (tmp_path / "dev.tsv").write_text("\n".join(rows), encoding="utf-8")
    code, told, err = run()
    assert code == 1, err
    assert told["best"] is None and json.dumps(told, allow_nan=False)
    [reason] = told["failures"]
    assert "no dev score" in reason


def test_a_batch_that_diverges_is_a_reason(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    from embedsearch.methods.scd import SCD

    monkeypatch.setattr(SCD, "terms", lambda self, v, b: {"x": v[0].sum() * float("nan")})
    code, told, _ = run()
    assert code == 1 and told["best"] is None
    [reason] = told["failures"]
    assert "loss/x is not finite" in reason


@pytest.mark.parametrize(
    ("words", "finds"),
    [
        (("--backbone", "no/such/folder"), ["no/such/folder", "no such folder"]),
        (("--grid", "coars"), ["coars"]),
        (("lamda=0.1",), ["lamda", "lambda"]),
        (("alpha=a lot",), ["alpha"]),
        (("max_length=600",), ["max_length 600"]),
        (("--seed", "-1"), ["--seed"]),
    ],
)
def test_a_mistake_is_said_before_anything_runs(
    words: tuple[str, ...], finds: list[str], run: Run, tmp_path: Path
) -> None:
    code, told, err = run(*words)
    assert code == 2 and told is None
    assert all(find in err for find in finds), err
    assert not (tmp_path / "mlruns").exists()


@pytest.mark.parametrize(
    ("alphas", "values"),
    [
        ("{start: 0.1, stop: 0.3, step: 0.1}", [0.1, 0.2, 0.3]),
        ("[1, 1.0, 1e0]", [1.0]),
        ("[3e-5, 0.00003]", [3e-5]),
        ("[1e5]", [1e5]),
    ],
)
def test_numbers_are_what_they_look_like(
    alphas: str, values: list[float], run: Run, tmp_path: Path
) -> None:
    space(tmp_path, alphas)
    code, told, err = run()
    assert code == 0, err
    assert sorted(trial["values"]["alpha"] for trial in told["ranked"]) == values


@pytest.mark.parametrize(
    "alphas", ["[]", "[true]", "[no]", "[1:30]", "{start: 1, stop: 0, step: 1}"]
)
def test_what_is_no_number_is_named_by_line(alphas: str, run: Run, tmp_path: Path) -> None:
    space(tmp_path, alphas)
    code, told, err = run()
    assert code == 2 and told is None
    assert "scd.yaml" in err and "line 5" in err and "alpha" in err, err


def test_a_changed_space_is_said_and_only_the_new_point_runs(run: Run, tmp_path: Path) -> None:
    assert run()[0] == 0
    space(tmp_path, "[0.1, 0.2]")
    code, told, err = run()
    assert code == 0 and len(told["ranked"]) == 2
    assert "1 known, 1 to run" in err and "new" in err


def test_a_test_set_is_selected_on_only_where_it_is_named(run: Run, tmp_path: Path) -> None:
    (tmp_path / "sts-test.csv").write_text("\n".join(PAIRS), encoding="utf-8")
    code, told, err = run("--dev", "sts-test.csv")
    assert (code, told) == (2, None)
    assert "'stsb-test' are a test set" in err
    assert "--select stsb-test" in err
    assert run("--select", "stsb-test")[0] == 2
    code, told, err = run("--dev", "sts-test.csv", "--select", "stsb-test")
    assert code == 0
    assert "a TEST set" in err
    assert told["notes"]["selected_on_test"] == "stsb-test"
