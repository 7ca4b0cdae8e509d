"""What a command runs on, where it leaves that to the preset."""

from __future__ import annotations

from pathlib import Path

import pytest

from embedsearch.cli import surroundings as module
from embedsearch.cli.options import SettingChoices
from embedsearch.cli.surroundings import surroundings
from embedsearch.errors import UserError
from embedsearch.presets import load_preset

PRESET = "backbone: nano-t5\ncorpus: demo\ndev: demo\nsteps: 1\nholds: {holds}\n"


def test_a_preset_of_sentences_has_no_documents() -> None:
    """Said before anything is read or fetched."""
    with pytest.raises(UserError) as caught:
        surroundings(SettingChoices(preset="paper"), 0, None, "gur", "pairs")
    said = str(caught.value)
    assert said.startswith(
        "gur trains on documents, and the corpus of preset paper holds sentences"
    )
    assert "--corpus" in said and "title" in said and "hf:" in said


@pytest.mark.parametrize(
    ("holds", "method", "needs", "fits"),
    [
        ("sentences", "gur", "pairs", False),
        ("documents", "gur", "pairs", True),
        ("documents", "simcse", "sentences", False),
        ("sentences", "simcse", "sentences", True),
        ("documents", "frozen", "nothing", True),
        ("null", "gur", "pairs", True),
    ],
)
def test_a_corpus_that_is_given_is_tried(
    holds: str, method: str, needs: module.Needs, fits: bool, tmp_path: Path
) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(PRESET.format(holds=holds))
    given = SettingChoices(preset=str(path), corpus="demo")
    assert surroundings(given, 0, None, method, needs).setting.dev.name == "demo-dev"
    if fits:
        surroundings(SettingChoices(preset=str(path)), 0, None, method, needs)
    else:
        with pytest.raises(UserError, match=f"{method} trains on .* preset mine holds {holds}"):
            surroundings(SettingChoices(preset=str(path)), 0, None, method, needs)


def test_beside_a_gpu_what_the_paper_preset_lacks_is_a_reason_for_the_demo(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "locate", lambda name: Path(name))
    monkeypatch.setattr(module, "read_dev_pairs", lambda name: None)
    preset, why = module._preset(SettingChoices(), 1, "gur", "pairs")
    assert preset.name == "demo" and "paper can't run: gur trains on documents" in why
    chosen = SettingChoices(corpus="mine.jsonl")
    assert module._preset(chosen, 1, "gur", "pairs")[0].name == "paper"
    assert load_preset("paper").holds == "sentences"


@pytest.mark.parametrize(("gpus", "ranks"), [(None, 1), (0.5, 1), (1, 1), (4, 4)])
def test_several_gpus_a_trial_are_as_many_processes(gpus: float | None, ranks: int) -> None:
    choices = SettingChoices(preset="demo", device="cuda", gpus_per_trial=gpus, chunk_size=16)
    found = surroundings(choices, 8, None, "scd", "sentences")
    assert (found.setting.ranks, found.setting.chunk_size) == (ranks, 16)
    assert "at most 16 rows at once" in found.said


def test_one_and_a_half_gpus_are_refused() -> None:
    choices = SettingChoices(preset="demo", device="cuda", gpus_per_trial=1.5)
    with pytest.raises(UserError, match=r"--gpus-per-trial 1\.5: above one it is a whole number"):
        surroundings(choices, 8, None, "scd", "sentences")
