"""A spec, run: its result, its identity, and what may befall it."""

import json
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from scipy import stats

from embedsearch import trial
from embedsearch.errors import UserError
from embedsearch.place import Place
from embedsearch.records import Measurement, Status, TrialResult, TrialSpec
from tests.conftest import make_point

Make = Callable[..., Any]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path / "storage")


def run(spec: TrialSpec, place: Place) -> tuple[TrialResult, list[Measurement]]:
    seen: list[Measurement] = []
    return trial.run(spec, place, seen.append), seen


@pytest.mark.parametrize("method", ["scd", "simcse"])
def test_trains_scores_and_leaves_a_checkpoint(
    method: str, make_setting: Make, place: Place
) -> None:
    from sentence_transformers import SentenceTransformer

    from embedsearch.encoder.model import Encoder

    spec = make_setting().spec(make_point(method))
    result, seen = run(spec, place)
    assert result.status is Status.FINISHED, result.reason
    assert [m.step for m in seen] == [0, 2, 4] == [m.step for m in result.history]
    assert result.best_score == max(m.metrics["dev/spearman"] for m in seen[1:])
    assert result.start_score == seen[0].metrics["dev/spearman"]
    encoder = Encoder.load(str(result.checkpoint), "mean")
    dev = trial._dev_pairs(spec.dev.location, spec.dev.fingerprint)
    assert trial.dev_score(encoder, dev) == result.best_score
    similar = stats.spearmanr(result.similarities, dev.gold).statistic
    assert 100 * similar == pytest.approx(result.best_score, abs=1e-6)
    assert TrialResult.from_json(json.loads(json.dumps(result.to_json()))) == result
    opened = SentenceTransformer(str(result.checkpoint), device="cpu", local_files_only=True)
    theirs = torch.tensor(opened.encode(["a bird"]))
    torch.testing.assert_close(theirs, encoder.embed(["a bird"]), rtol=0, atol=1e-6)
    assert not (place.work(spec.id) / "state").exists()


def test_frozen_reads_no_corpus_and_scores_the_backbone(make_setting: Make, place: Place) -> None:
    spec = make_setting().spec(make_point("frozen"))
    assert (spec.total_steps, spec.corpus.location) == (0, "")
    result, seen = run(spec, place)
    assert result.status is Status.FINISHED, result.reason
    assert result.best_score == result.start_score == seen[0].metrics["dev/spearman"]


def test_same_spec_is_not_run_twice(make_setting: Make, place: Place) -> None:
    spec = make_setting().spec(make_point())
    first, seen = run(spec, place)
    (place.work(spec.id) / "spec.json").write_text("untouched")
    second, told_again = run(spec, place)
    assert (second, told_again) == (first, seen)
    assert (place.work(spec.id) / "spec.json").read_text() == "untouched"


def test_same_numbers_wherever_it_runs(make_setting: Make, place: Place, tmp_path: Path) -> None:
    spec = make_setting().spec(make_point())
    first, _ = run(spec, place)
    torch.manual_seed(123)
    second, _ = run(spec, Place(tmp_path / "other"))
    assert (second.best_score, second.start_score) == (first.best_score, first.start_score)


def test_two_at_once_run_it_once(
    make_setting: Make, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = make_setting().spec(make_point())
    attempts: list[str] = []
    attempt = trial._attempt

    def counted(spec: TrialSpec, *rest: Any) -> TrialResult:
        attempts.append(spec.id)
        return attempt(spec, *rest)

    monkeypatch.setattr(trial, "_attempt", counted)
    results: list[TrialResult] = []
    threads = [
        threading.Thread(target=lambda: results.append(run(spec, place)[0])) for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(attempts) == 1
    assert results[0] == results[1]


def test_nan_is_final_and_never_a_score(
    make_setting: Make, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    from embedsearch.methods.scd import SCD

    monkeypatch.setattr(
        SCD, "terms", lambda self, views, batch: {"self_contrast": views[0].sum() * float("nan")}
    )
    spec = make_setting().spec(make_point())
    result, _ = run(spec, place)
    assert (result.status, result.best_score) == (Status.DIVERGED, None)
    assert "loss/self_contrast is not finite at step 2" in result.reason
    assert json.loads((place.work(spec.id) / "result.json").read_text())["status"] == "diverged"


def test_constant_scores_are_divergence(make_setting: Make, place: Place, tmp_path: Path) -> None:
    (tmp_path / "dev.tsv").write_text("1\tone bird\tone bird\n2\ttwo birds\ttwo birds\n")
    result, _ = run(make_setting().spec(make_point()), place)
    assert result.status is Status.DIVERGED
    assert "all similarities are the same" in result.reason


@pytest.mark.parametrize(
    ("error", "status", "reason"),
    [
        (torch.OutOfMemoryError("CUDA"), Status.OUT_OF_MEMORY, "batch_size 4, max_length 32"),
        (RuntimeError("odd thing"), Status.FAILED, "RuntimeError: odd thing"),
        (UserError("mend this"), Status.FAILED, "mend this"),
    ],
)  # fmt: skip
def test_failure_is_a_result_and_is_tried_again(
    error: Exception, status: Status, reason: str, make_setting: Make, place: Place,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    spec = make_setting().spec(make_point())
    with monkeypatch.context() as patch:

        def fail(*_: Any) -> None:
            raise error

        patch.setattr(trial, "_train", fail)
        result, _ = run(spec, place)
    assert result.status is status and reason in result.reason
    assert run(spec, place)[0].status is Status.FINISHED


@pytest.mark.parametrize(
    ("error", "kept"), [(RuntimeError("odd"), False), (OSError(28, "full"), True)]
)
def test_only_what_its_surroundings_failed_keeps_a_state(
    error: Exception, kept: bool, make_setting: Make, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    spec, place = make_setting().spec(make_point()), Place(tmp_path / "storage", save_s=0)

    def fail(*_: Any) -> None:
        raise error

    monkeypatch.setattr(trial, "export", fail)
    assert run(spec, place)[0].status is Status.FAILED
    assert (place.work(spec.id) / "state").exists() is kept


@pytest.mark.parametrize("content", ["", "{", '{"spec_id": "x"}'])
def test_damaged_result_is_run_again(
    content: str, make_setting: Make, place: Place, caplog: pytest.LogCaptureFixture
) -> None:
    spec = make_setting().spec(make_point())
    first, _ = run(spec, place)
    (place.work(spec.id) / "result.json").write_text(content)
    assert run(spec, place)[0].best_score == first.best_score
    assert "can't be read" in caplog.text


def test_damaged_checkpoint_is_made_again(
    make_setting: Make, place: Place, caplog: pytest.LogCaptureFixture
) -> None:
    spec = make_setting().spec(make_point())
    first, _ = run(spec, place)
    weights = place.work(spec.id) / "best" / "model.safetensors"
    whole = weights.read_bytes()
    weights.write_bytes(whole[: len(whole) // 2])
    assert run(spec, place)[0].best_score == first.best_score
    assert "best is damaged; the trial runs again" in caplog.text
    assert weights.read_bytes() == whole


def test_changed_dev_pairs_are_noticed(make_setting: Make, place: Place, tmp_path: Path) -> None:
    spec = make_setting().spec(make_point())
    trial._dev_pairs.cache_clear()
    dev = tmp_path / "dev.tsv"
    dev.write_text(dev.read_text().replace("here", "near"))
    result, _ = run(spec, place)
    assert result.status is Status.FAILED and "has changed since" in result.reason


def test_identity_is_content_not_place(make_setting: Make) -> None:
    spec = make_setting().spec(make_point())
    moved = replace(spec, preset="other", dev=replace(spec.dev, location="/elsewhere"))
    assert moved.id == spec.id
    for change in ({"seed": 1}, {"total_steps": 5}, {"threads": 2}, {"precision": "bf16"}):
        assert replace(spec, **change).id != spec.id
    assert TrialSpec.from_json(json.loads(json.dumps(spec.to_json()))) == spec


def test_lr_3e_5_and_0_00003_are_one_point() -> None:
    assert make_point(learning_rate="3e-5").id == make_point(learning_rate=0.00003).id


def test_epochs_become_steps_by_batch(make_setting: Make) -> None:
    setting = make_setting(steps=None, epochs=2)
    assert setting.spec(make_point(batch_size=8)).total_steps == 2 * (40 // 8)


def test_batch_larger_than_the_corpus_is_refused(make_setting: Make) -> None:
    with pytest.raises(UserError, match="40 sentences and a batch takes 64"):
        make_setting().spec(make_point(batch_size=64))


@pytest.mark.gpu
def test_a_gpu_trial_in_bf16(make_setting: Make, place: Place) -> None:
    spec = make_setting(device="cuda", precision="bf16").spec(make_point())
    result, _ = run(spec, place)
    assert result.status is Status.FINISHED, result.reason


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU here")
def test_no_gpu_is_one_sentence(make_setting: Make, place: Place) -> None:
    result, _ = run(make_setting(device="cuda").spec(make_point()), place)
    assert result.status is Status.FAILED and "--device cpu" in result.reason


def test_an_edited_method_of_ones_own_is_another(
    make_setting: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the package ships is counted by its version of the numerics; other code by itself."""
    from embedsearch.records import Point

    source = (
        "from embedsearch.methods.simcse import SimCSE\n"
        "class Mine(SimCSE):\n"
        "    def terms(self, views, batch):\n"
        "        return {'mine': 1.0 * super().terms(views, batch)['contrast']}\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    shipped = make_point("simcse")
    point = Point("mine", "mine:Mine", shipped.values)
    setting, ids = make_setting(), []
    for text in (source, source.replace("1.0", "2.0"), source):
        (tmp_path / "mine.py").write_text(text)
        ids.append(setting.spec(point).id)
    assert ids[0] != ids[1] and ids[0] == ids[2]
    assert setting.spec(shipped).code == ""


def test_a_shipped_method_s_revision_makes_its_trials_alone_new(
    make_setting: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    from embedsearch.methods.simcse import SimCSE

    setting, simcse, scd = make_setting(), make_point("simcse"), make_point("scd")
    before = [setting.spec(point).id for point in (simcse, scd)]
    monkeypatch.setattr(SimCSE, "revision", 1)
    after = [setting.spec(point).id for point in (simcse, scd)]
    assert before[0] != after[0] and before[1] == after[1]
