"""Augmented views: what is refused before the start, what a batch holds, who a trial is."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from embedsearch import trial
from embedsearch.data.augment import augmented as make_augmented
from embedsearch.data.augment import wordnet
from embedsearch.data.corpus import Corpus
from embedsearch.encoder.model import Encoder
from embedsearch.errors import UserError
from embedsearch.methods import augmented
from embedsearch.methods.simcse import SimCSE, SimCSEConfig
from embedsearch.place import Place
from embedsearch.records import Status, TrialSpec
from embedsearch.sweep.catalogue import shipped_folder
from embedsearch.sweep.space import load_space
from tests.conftest import make_point
from tests.data.augment.dictionary import write_wordnet

Make = Callable[..., Any]


@pytest.fixture(autouse=True)
def _nothing_found_before() -> None:
    augmented._source.cache_clear()


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path / "storage")


def run(spec: TrialSpec, place: Place) -> Any:
    return trial.run(spec, place, lambda measurement: None)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"augment": "wdel", "augment_source": "x"}, "augment=wdel reads no augment_source"),
        ({"augment_source": "x"}, "augment=none reads no augment_source"),
        ({"augment": "ctxt"}, "augment=ctxt wants a masked language model"),
        ({"augment_rate": 0}, "greater than 0"),
        ({"augment_rate": 1}, "less than 1"),
        ({"dropout": 0}, "dropout is zero"),
    ],
)
def test_values_that_do_not_fit(values: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SimCSEConfig(**values)


def test_the_shipped_grid_needs_the_corpus_alone(
    make_setting: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wordnet, "DEBIAN", tmp_path / "nowhere")
    points = load_space(shipped_folder() / "simcse.yaml").points("augment").points
    specs = [make_setting(rows=1_000).spec(point) for point in points]
    assert [spec.point.contents for spec in specs] == [{}] * 3


def test_missing_sources_are_found_out_before_the_start(
    make_setting: Make, make_backbone: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    setting, encoder = make_setting(), str(make_backbone("bert"))
    monkeypatch.setattr(wordnet, "DEBIAN", tmp_path / "nowhere")
    with pytest.raises(UserError, match="install Debian's wordnet-base"):
        setting.spec(make_point("simcse", augment="wnet"))
    with pytest.raises(UserError, match=r"augment_source: .* no such folder"):
        setting.spec(make_point("simcse", augment="ctxt", augment_source="./no-model"))
    with pytest.raises(UserError, match="give a masked language model with its head"):
        setting.spec(make_point("simcse", augment="ctxt", augment_source=encoder))


def test_without_dropout_an_augmentation_makes_the_views_differ(
    make_setting: Make, make_backbone: Make, place: Place
) -> None:
    still = make_backbone("bert", hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    setting = make_setting(still)
    with pytest.raises(UserError, match="is zero, so the two views would be the same"):
        setting.spec(make_point("simcse"))
    for spec in (
        setting.spec(make_point("simcse", augment="wdel")),
        make_setting().spec(make_point("simcse", augment="wdel", dropout=0)),
    ):
        result = run(spec, place)
        assert result.status is Status.FINISHED, result.reason


def test_the_second_view_is_of_the_augmented_sentence(make_backbone: Make) -> None:
    encoder = Encoder.load(str(make_backbone("bert")), "mean").train()
    method = SimCSE(SimCSEConfig(augment="wdel", dropout=0), encoder)
    ids = torch.randint(10, 500, (4, 9), generator=torch.Generator().manual_seed(1))
    shorter = {"input_ids": ids[:, :6], "attention_mask": torch.ones(4, 6, dtype=torch.int64)}
    plain = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    batch = {**plain, **{f"augmented_{name}": value for name, value in shorter.items()}}
    first, second = method.views(encoder, batch)
    assert torch.equal(first, encoder.encode(plain, dropout=0))
    assert torch.equal(second, encoder.encode(shorter, dropout=0))


@pytest.mark.parametrize("augment", ["wdel", "wnet", "ctxt"])
def test_it_trains_on_each_sentence_and_its_own_augmentation(
    augment: Any, make_setting: Make, make_masked_model: Make, place: Place, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    makers = {"wnet": lambda: write_wordnet(tmp_path / "dict"), "ctxt": make_masked_model}
    source = {"augment_source": str(makers[augment]())} if augment in makers else {}
    spec = make_setting().spec(make_point("simcse", augment=augment, augment_rate=0.2, **source))
    seen: list[tuple[str, str]] = []
    tokenizer = Encoder.load(spec.backbone.location, "mean").tokenizer

    def decoded(ids: Any) -> list[str]:
        texts: list[str] = tokenizer.batch_decode(ids, skip_special_tokens=True)
        return texts

    def views(self: SimCSE, encoder: Encoder, batch: Any, views: Any = SimCSE.views) -> Any:
        names = ("input_ids", "augmented_input_ids")
        seen.extend(zip(*(decoded(batch[name]) for name in names), strict=True))
        return views(self, encoder, batch)

    monkeypatch.setattr(SimCSE, "views", views)
    result = run(spec, place)
    assert result.status is Status.FINISHED, result.reason
    corpus = Corpus.at(Path(spec.corpus.location))
    config = SimCSEConfig(**spec.point.values)
    made = make_augmented(corpus, config.augmentation(), spec.seed, cache=place.cache)
    both = (decoded(tokenizer(list(texts))["input_ids"]) for texts in (corpus, made))
    assert len(seen) == 4 * 4 and set(seen) <= set(zip(*both, strict=True))
    assert sum(before != after for before, after in seen) > 12


def test_identity_is_the_sources_content_not_its_place(
    make_setting: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    setting = make_setting()

    def spec(folder: Path | None) -> TrialSpec:
        source = None if folder is None else str(folder)
        return setting.spec(make_point("simcse", augment="wnet", augment_source=source))

    here, there = (write_wordnet(tmp_path / name) for name in ("here", "there"))
    first = spec(here)
    assert first.point.values["augment_source"] == str(here)
    assert (spec(there).id, spec(there).point.id) == (first.id, first.point.id)
    monkeypatch.setattr(wordnet, "DEBIAN", there)
    assert spec(None).id == first.id
    assert TrialSpec.from_json(first.to_json()) == first
    (there / "data.adv").write_text("00000001 02 r 02 slowly 0 easy 0 000 | not fast\n")
    augmented._source.cache_clear()
    assert spec(there).id != first.id and spec(there).point.id != first.point.id


def test_a_source_that_changed_since_is_noticed(
    make_setting: Make, place: Place, tmp_path: Path
) -> None:
    folder = write_wordnet(tmp_path / "dict")
    spec = make_setting().spec(make_point("simcse", augment="wnet", augment_source=str(folder)))
    (folder / "data.adv").write_text("")
    augmented._source.cache_clear()
    result = run(spec, place)
    assert result.status is Status.FAILED and "has changed since" in result.reason


def test_methods_without_sources_are_called_what_they_were() -> None:
    point = make_point("scd")
    assert point.reading({}) == point
    assert point.identity == {"method": "scd", "target": point.target, "values": point.values}
