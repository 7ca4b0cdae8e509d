"""The commands as a user gives them, on a preset of seconds."""

import json
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from embedsearch.cli import main

Make = Callable[..., Any]
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(make_setting: Make, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a command line in an empty folder beside a tiny preset: exit code, output, errors."""
    setting = make_setting()
    preset = {
        "backbone": setting.backbone.location,
        "corpus": "corpus.txt",
        "dev": "dev.tsv",
        "steps": 4,
        "eval_steps": 2,
        "values": {"batch_size": 4, "pooling": "mean"},
        "methods": {"scd": {"values": {"projector_dim": 8}, "learning_rate_factor": 10}},
    }
    (tmp_path / "tiny.yaml").write_text(json.dumps(preset))

    def run(*words: str) -> tuple[int, str, str]:
        capsys.readouterr()
        with pytest.raises(SystemExit) as end:
            main(list(words))
        said = capsys.readouterr()
        return int(end.value.code or 0), said.out, said.err

    return run


def test_train_then_best(run: Run, tmp_path: Path) -> None:
    code, out, err = run("train", "scd", "alpha=0.2", "--preset", "tiny.yaml")
    assert code == 0, err
    assert "preset tiny · backbone bert-" in out and "corpus corpus.txt (40 sentences)" in out
    assert "learning rate times 10 (preset tiny)" in out
    assert "Best of 1:" in out and "Untrained:" in out
    code, out, err = run("best", "--method", "scd", "--json")
    assert code == 0, err
    [best] = json.loads(out)["best"]
    assert best["values"]["alpha"] == 0.2
    assert best["values"]["learning_rate"] == pytest.approx(3e-4)
    assert Path(best["checkpoint"], "modules.json").is_file()
    assert run("best", "--method", "scd", "--export", "out")[0] == 0
    assert (tmp_path / "out" / "model.safetensors").is_file()


def test_given_again_it_runs_nothing(run: Run) -> None:
    command = ("train", "simcse", "--preset", "tiny.yaml", "--json")
    first = json.loads(run(*command)[1])
    code, out, err = run(*command)
    assert code == 0 and "1 known, 0 to run" in err
    second = json.loads(out)
    assert (second["best"]["score"], second["best"]["spec_id"]) == (
        first["best"]["score"],
        first["best"]["spec_id"],
    )


def test_command_line_rate_is_not_scaled(run: Run) -> None:
    out = json.loads(
        run("train", "scd", "learning_rate=3e-5", "--preset", "tiny.yaml", "--json")[1]
    )
    assert out["best"]["values"]["learning_rate"] == 3e-5


def test_frozen_is_the_floor(run: Run) -> None:
    code, out, _ = run("train", "frozen", "--pooling", "cls", "--preset", "tiny.yaml", "--json")
    best = json.loads(out)["best"]
    assert code == 0
    assert best["score"] == best["untrained"] and best["values"]["pooling"] == "cls"


def test_word_vectors_are_a_floor_too(run: Run, tmp_path: Path) -> None:
    words = ["the", "a", "is", "was", "here", "there", "river", "stone", "bird", "music", "paper"]
    lines = [f"{word} {i} {i * i % 7} {i % 3}" for i, word in enumerate(words)]
    (tmp_path / "glove.txt").write_text("\n".join(lines), encoding="utf-8")
    command = ("--backbone", "glove.txt", "--preset", "tiny.yaml")
    code, out, err = run("train", "frozen", *command)
    assert code == 0 and "backbone glove.txt · no training" in out, err
    code, _, err = run("train", "scd", *command)
    assert code == 2 and "glove.txt is a word table, and SCD wants a bert or" in err


def test_points_that_a_backbone_lacks_are_left_out_and_said(run: Run) -> None:
    command = ("plan", "frozen", "--backbone", "nano-t5", "--preset", "tiny.yaml")
    code, out, _ = run(*command)
    assert code == 0 and "frozen pooling: 4 trials, 0 known, 4 to run" in out
    assert "1 can't run here: pooling cls takes the state of the special token before a" in out
    code, _, err = run(*command, "pooling=cls")
    assert code == 2 and "pooling cls takes" in err


def test_a_lost_store_is_filled_again(run: Run, tmp_path: Path) -> None:
    command = ("train", "scd", "--preset", "tiny.yaml", "--json")
    first = json.loads(run(*command)[1])
    second = json.loads(run(*command, "--store", str(tmp_path / "fresh"))[1])
    assert second["best"]["score"] == first["best"]["score"]
    assert Path(second["best"]["checkpoint"]).is_dir()


def test_all_failed_is_no_best(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    from embedsearch.methods.scd import SCD

    monkeypatch.setattr(SCD, "terms", lambda self, v, b: {"x": v[0].sum() * float("nan")})
    code, out, _ = run("train", "scd", "--preset", "tiny.yaml")
    assert code == 1
    assert "1 failed: diverged: loss/x is not finite at step 2" in out
    assert "no best" in out
    code, _, err = run("best", "--method", "scd")
    assert code == 1 and "has a score" in err


def test_plan_runs_nothing(run: Run, tmp_path: Path) -> None:
    code, out, _ = run("plan", "scd", "--max-trials", "3", "--preset", "tiny.yaml")
    assert code == 0
    assert "scd coarse: 3 trials of 150 (147 left out by the cap)" in out
    assert out.count("to run: 4 steps") == 3
    assert "12 steps in 3 trials" in out
    assert not (tmp_path / "mlruns").exists()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("train", "scd", "alhpa=1"), "no hyperparameter 'alhpa', perhaps 'alpha'"),
        (("train", "scd", "alpha=x"), "alpha"),
        (("train", "scdd"), "no method 'scdd', perhaps 'scd'"),
        (("train", "scd", "pooling=pooler"), "pooling"),
        (("train", "scd", "max_length=65"), "max_length 65 is more than the 64 tokens"),
        (("train", "scd", "--corpus", "none.txt"), "none.txt"),
        (("train", "scd", "--dev", "none.tsv"), "none.tsv"),
        (("train", "scd", "--backbone", "./none"), "there is no such folder"),
        (("train", "scd", "--precision", "fp8"), "precision"),
        (("train", "scd", "--corpus", "latin.txt"), "--encoding"),
        (("plan", "scd", "--grid", "corase"), "no grid 'corase', perhaps 'coarse'"),
        (("plan", "scd", "--grid", "fine"), "python -m embedsearch.sweep scd --grid coarse"),
        (("plan", "scd", "--grid", "range"), "--max-trials N"),
        (("plan", "scd", "--grid", "fine", "--around", "abc"), "'abc' is no run id"),
        (("train", "scd", "--storage", "tiny.yaml/x"), "--storage"),
        (("train", "scd", "--storage", "s3://key:secret@bucket/x"), "in the environment"),
        (("train", "scd", "--storage", "s4://bucket/x"), "nothing can be written there"),
        (("train", "scd", "--storage", "s3:/bucket/x"), "give s3://BUCKET/FOLDER"),
        (("train", "scd", "--storage", "file:///dev/null/x"), "nothing can be written there"),
        (("train", "scd", "--encoding", "rot13"), "no encoding 'rot13'"),
        (("train", "scd", "--encoding", "utf-16"), "not valid utf-16"),
        (("train", "scd", "pooling=cls", "--pooling", "mean"), "give one of them"),
        (("sweep", "scd", "--keep", "none"), "--keep none"),
        (("sweep", "scd", "--cpus-per-trial", "900"), "lower --cpus-per-trial"),
    ],
)
def test_mistakes_are_one_sentence(
    words: tuple[str, ...], sentence: str, run: Run, tmp_path: Path
) -> None:
    (tmp_path / "latin.txt").write_bytes("a caf\xe9\n".encode("latin-1"))
    code, _, err = run(*words, "--preset", "tiny.yaml")
    assert code == 2
    assert sentence in err
    assert "Traceback" not in err and err.count("\n") == 1
    assert not (tmp_path / "mlruns").exists()


def test_without_dropout_simcse_is_refused(run: Run, make_backbone: Make) -> None:
    still = make_backbone("bert", hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    code, _, err = run("train", "simcse", "--preset", "tiny.yaml", "--backbone", str(still))
    assert code == 2 and "dropout=0.1" in err


def test_an_unknown_architecture_is_refused(run: Run, tmp_path: Path) -> None:
    from transformers import GPT2Config

    GPT2Config().save_pretrained(tmp_path / "gpt")
    code, _, err = run("train", "scd", "--preset", "tiny.yaml", "--backbone", "gpt")
    assert code == 2 and "type 'gpt2'; supported are" in err


def test_a_folder_called_demo_is_not_the_demo(run: Run, tmp_path: Path) -> None:
    (tmp_path / "demo").mkdir()
    code, out, err = run("train", "frozen", "--preset", "demo", "--json")
    assert code == 0, out + err


def test_a_folder_with_brackets_is_printed_as_it_is(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a[b] c[/d]").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "a[b] c[/d]")
    code, out, err = run("train", "frozen", "--preset", str(tmp_path / "tiny.yaml"))
    assert code == 0, err
    assert f"Checkpoint: {tmp_path}/a[b] c[/d]/mlruns/" in out


def test_a_space_and_a_method_of_ones_own(run: Run, tmp_path: Path) -> None:
    """As the README says, but in the working folder instead of the package."""
    (tmp_path / "mymethod.py").write_text(
        "from embedsearch.methods.simcse import SimCSE, SimCSEConfig\n"
        "class Mine(SimCSE):\n    Config = SimCSEConfig\n"
    )
    (tmp_path / "search_spaces").mkdir()
    (tmp_path / "search_spaces" / "mine.yaml").write_text(
        "method: mymethod:Mine\n"
        "grids:\n"
        "  wide: {values: {temperature: {low: 0.01, high: 1, log: true}}}\n"
        "  near: {around: wide, values: {temperature: {factors: [0.5, 1, 2]}}}\n"
    )
    assert run("train", "mine", "--preset", "tiny.yaml")[0] == 0
    code, _, err = run("plan", "mine", "--grid", "near", "--preset", "tiny.yaml")
    assert code == 2 and "python -m embedsearch.sweep mine --grid wide" in err
    (tmp_path / "search_spaces" / "mine.yaml").write_text("method: mymethod:Mine\ngrids: {}\n")
    code, _, err = run("plan", "mine", "--preset", "tiny.yaml")
    assert code == 2 and "grids" in err


@pytest.fixture
def documents(run: Run, tmp_path: Path, make_backbone: Make) -> Path:
    """A file of eight documents; ``t5.yaml`` takes it, and has a T5 for gur beside a BERT."""
    rows = [
        {"title": name, "text": f"{name} is near. We went to {name}. It was {name} again."}
        for name in ("Norwick", "Selby", "Tamford", "Wexby", "Oldham", "Kirkton", "Dunmore", "Hale")
    ]
    path = tmp_path / "documents.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    preset = json.loads((tmp_path / "tiny.yaml").read_text())
    backbone = str(make_backbone("t5", n_positions=128))
    values = {"pooling": "eos", "batch_size": 8, "projection_dim": 8}
    methods = {"gur": {"backbone": backbone, "values": values}}
    t5 = {**preset, "corpus": path.name, "methods": methods}
    (tmp_path / "t5.yaml").write_text(json.dumps(t5))
    return path


def test_a_method_of_pairs_takes_documents_and_its_own_backbone(run: Run, documents: Path) -> None:
    code, out, err = run("train", "gur", "--preset", "t5.yaml")
    assert code == 0, err
    assert "backbone t5-" in out and "corpus documents.jsonl (8 documents)" in out
    assert "Best of 1:" in out
    code, out, err = run("train", "gur", "--preset", "t5.yaml", "--backbone", "nano")
    assert code == 2 and "is a bert, and GUR wants a t5; give another --backbone" in err
    code, out, err = run("plan", "gur", "--grid", "ablation", "--preset", "t5.yaml")
    assert code == 0 and "4 trials" in out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--corpus", "corpus.txt"), "documents 'corpus.txt': there is 1 and it takes several"),
        (("--column", "text"), "--column text: documents are read by their keys"),
        (("--format", "csv"), "documents can't be read from csv"),
    ],
)
def test_what_is_no_documents_is_refused(
    run: Run, documents: Path, words: tuple[str, ...], message: str
) -> None:
    code, _, err = run("train", "gur", "--preset", "t5.yaml", *words)
    assert code == 2 and message in err


def test_a_job_in_the_background_ends_at_sigterm(monkeypatch: pytest.MonkeyPatch) -> None:
    """A script's ``command &`` is started with Ctrl-C ignored."""
    monkeypatch.setattr("embedsearch.cli.app.app", lambda _: signal.raise_signal(signal.SIGTERM))
    before = {
        number: signal.signal(number, signal.SIG_IGN) for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        with pytest.raises(SystemExit) as end:
            main([])
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    assert end.value.code == 130
