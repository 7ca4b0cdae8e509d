"""The shipped presets, and the user's own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from embedsearch.errors import UserError
from embedsearch.presets import Preset, load_preset, shipped_presets

OWN = "backbone: bert-base-uncased\ncorpus: sentences.txt\ndev: dev\nsteps: 1e2\n"


@pytest.fixture
def own(tmp_path: Path) -> Any:
    def write(text: str, name: str = "mine.yaml") -> Path:
        path = tmp_path / "presets" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        return path

    return write


def test_the_demo_needs_nothing_but_the_package() -> None:
    demo = load_preset("demo")
    assert (demo.name, demo.backbone, demo.corpus, demo.dev) == ("demo", "nano", "demo", "demo")
    assert demo.steps is not None and demo.steps % demo.eval_steps == 0
    assert demo.epochs is None
    assert demo.cap("scd", "coarse") == 12
    assert "projector_dim" in demo.values_of("scd")
    assert "projector_dim" not in demo.values_of("simcse")


def test_the_paper_preset_is_the_fields_setting() -> None:
    paper = load_preset("paper")
    assert paper.backbone == "bert-base-uncased"
    assert paper.corpus.startswith("hf:") and paper.dev.startswith("hf:")
    assert (paper.epochs, paper.steps, paper.eval_steps) == (1, None, 125)
    assert paper.gpus_per_trial == 1
    assert paper.cap("scd", "coarse") is None
    assert paper.method("scd").learning_rate_factor == 1


def test_every_shipped_preset_says_what_it_is() -> None:
    assert set(shipped_presets()) == {"demo", "paper"}
    for name in shipped_presets():
        assert load_preset(name).about


def test_an_unknown_preset_lists_both_kinds() -> None:
    with pytest.raises(UserError) as caught:
        load_preset("pepar")
    message = str(caught.value)
    assert "no preset or file 'pepar', perhaps 'paper' (there is demo, paper)" in message
    assert "your own YAML file" in message
    assert "\n" not in message


def test_an_own_preset_is_named_by_its_file(own: Any) -> None:
    preset = load_preset(own(OWN))
    assert preset.name == "mine"
    assert preset.steps == 100
    assert load_preset(own("name: other\n" + OWN)).name == "other"


def test_relative_paths_start_at_the_presets_folder(own: Any) -> None:
    path = own(OWN)
    preset = load_preset(path)
    assert preset.corpus == str(path.parent / "sentences.txt")
    assert preset.dev == str(path.parent / "dev")
    assert preset.backbone == "bert-base-uncased"


def test_absolute_paths_words_and_hub_names_stay(own: Any, tmp_path: Path) -> None:
    text = f"backbone: org/model\ncorpus: {tmp_path}/a.txt\ndev: hf:a/b::test\nsteps: 1\n"
    preset = load_preset(own(text))
    assert (preset.backbone, preset.dev) == ("org/model", "hf:a/b::test")
    assert preset.corpus == f"{tmp_path}/a.txt"


def test_words_are_never_files_and_a_folder_wins_over_a_hub_name(own: Any) -> None:
    folder = own(OWN).parent
    for name in ("nano", "nano-t5", "demo", "org"):
        (folder / name).mkdir()
    for nano in ("nano", "nano-t5"):
        preset = load_preset(own(f"backbone: {nano}\ncorpus: demo\ndev: demo\nsteps: 1\n"))
        assert (preset.backbone, preset.corpus, preset.dev) == (nano, "demo", "demo")
    path = own(OWN.replace("bert-base-uncased", "org"))
    assert load_preset(path).backbone == str(path.parent / "org")
    path = own(OWN.replace("bert-base-uncased", "./nano"))
    assert Path(load_preset(path).backbone) == path.parent / "nano"


def test_a_file_beside_a_shipped_name_is_taken_by_its_path(
    own: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = own(OWN, "demo.yaml")
    monkeypatch.chdir(path.parent)
    assert load_preset("demo").backbone == "nano"
    assert load_preset("demo.yaml").backbone == "bert-base-uncased"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("epochs: 1\n", "give either 'steps' or 'epochs'"),
        ("eval_stpes: 5\n", r"line 5, eval_stpes: no key 'eval_stpes', perhaps 'eval_steps'"),
        ("device: gpu\n", r"line 5, device: 'gpu' should be 'auto', 'cpu' or 'cuda'"),
        ("seed: -1\n", r"line 5, seed: '-1' should be greater than or equal to 0"),
        ("max_trials: 0\n", r"line 5, max_trials: '0' should be greater"),
        ("methods: {scd: {learning_rate_factor: 0}}\n", r"methods\.scd\.learning_rate_factor: '0'"),
        ("methods: {scd: {valeus: {}}}\n", r"scd\.valeus: no key 'valeus', perhaps 'values'"),
        ("methods: {scd: {max_trials: {a: x}}}\n", r"scd\.max_trials\.a: 'x' is no whole number"),
        ("values: [1]\n", r"line 5, values: "),
        ("steps: 3\n", r"line 5, steps: is there twice, first in line 4"),
    ],
)
def test_mistakes_are_named_by_file_line_and_key(own: Any, change: str, message: str) -> None:
    with pytest.raises(UserError, match=message) as caught:
        load_preset(own(OWN + change))
    assert "mine.yaml" in str(caught.value)


def test_no_length_at_all_is_refused(own: Any) -> None:
    with pytest.raises(UserError, match="give either 'steps' or 'epochs'"):
        load_preset(own(OWN.replace("steps: 1e2", "seed: 1")))
    with pytest.raises(UserError, match="the key 'dev' is missing"):
        load_preset(own(OWN.replace("dev: dev", "seed: 1")))


def test_a_methods_values_and_caps_come_before_the_common_ones() -> None:
    preset = Preset(
        name="x",
        backbone="nano",
        corpus="demo",
        dev="demo",
        steps=1,
        max_trials=5,
        values={"batch_size": 2, "max_length": 8},
        methods={"scd": {"values": {"batch_size": 4}, "max_trials": {"fine": 3}}},
    )
    assert preset.values_of("scd") == {"batch_size": 4, "max_length": 8}
    assert preset.values_of("simcse") == {"batch_size": 2, "max_length": 8}
    assert (preset.cap("scd", "fine"), preset.cap("scd", "log"), preset.cap("x", "y")) == (3, 5, 5)


def test_parts_are_replaced_and_one_length_takes_the_others_place() -> None:
    demo = load_preset("demo")
    changed = demo.replaced(backbone="bert-base-uncased", steps="20", seed=3)
    assert (changed.backbone, changed.steps, changed.seed) == ("bert-base-uncased", 20, 3)
    assert changed.values_of("scd") == demo.values_of("scd")
    assert changed.cap("scd", "coarse") == demo.cap("scd", "coarse")
    by_epochs = demo.replaced(epochs="0.5")
    assert (by_epochs.steps, by_epochs.epochs) == (None, 0.5)
    assert demo.replaced() == demo
    with pytest.raises(UserError, match=r"^command line, steps: 'x' is no whole number"):
        demo.replaced(steps="x")
    with pytest.raises(UserError, match="perhaps 'backbone'"):
        demo.replaced(bakbone="x")


def test_a_method_may_have_a_backbone_of_its_own(own: Any) -> None:
    assert load_preset("demo").method("gur").backbone == "nano-t5"
    assert load_preset("demo").method("scd").backbone is None
    path = own(OWN + "methods: {gur: {backbone: ./mine}, scd: {backbone: org/model}}\n")
    preset = load_preset(path)
    assert preset.method("gur").backbone == str(path.parent / "mine")
    assert preset.method("scd").backbone == "org/model"
    with pytest.raises(UserError, match=r"gur\.backbone: '1' is no|gur\.backbone"):
        load_preset(own(OWN + "methods: {gur: {backbone: []}}\n"))
