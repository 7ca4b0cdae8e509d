"""GUR: what is known to belong together is no negative; each switch turns its part off."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from embedsearch import trial
from embedsearch.data.documents import keep_documents, open_documents
from embedsearch.data.pair_batches import DOCUMENT, SECOND, SENTENCE, TITLE
from embedsearch.data.spans import Denoising
from embedsearch.encoder.backbone import describe
from embedsearch.encoder.model import Encoder
from embedsearch.encoder.seq2seq import SequenceDecoder, sentinels
from embedsearch.errors import UserError
from embedsearch.methods.base import part, total
from embedsearch.methods.gur import GUR, GURConfig, known_pairs
from embedsearch.place import Place
from embedsearch.records import Measurement, Source, Status, TrialResult
from embedsearch.setting import Setting
from tests.conftest import make_point

Make = Callable[..., Any]

TOWNS = ["Norwick", "Selby", "Tamford", "Wexbridge", "Oldham", "Kirkton", "Dunmore", "Halewood"]
HANS = ["长江", "黄河", "泰山", "华山", "杭州", "苏州", "洞庭湖", "青海湖"]


@pytest.fixture
def encoder(make_backbone: Make) -> Encoder:
    return Encoder.load(str(make_backbone("t5", n_positions=128)), "eos").train()


def texts(*rows: list[int]) -> dict[str, Tensor]:
    """Rows of tokens before </s>."""
    width = max(map(len, rows)) + 1
    ids = torch.zeros(len(rows), width, dtype=torch.long)
    for place, row in enumerate(rows):
        ids[place, : len(row) + 1] = torch.tensor([*row, 1])
    return {"input_ids": ids, "attention_mask": (ids != 0).long()}


def words(number: int, length: int = 9) -> list[int]:
    return list(range(300 + 10 * number, 300 + 10 * number + length))


def batch_of(firsts: list[list[int]], seconds: list[list[int]]) -> dict[str, Tensor]:
    """Every text is a sentence of its own, also where two are equal."""
    sides = {"": firsts, SECOND: seconds, DOCUMENT: [words(30, 12)], TITLE: [words(31, 2)]}
    batch = {
        prefix + name: value
        for prefix, rows in sides.items()
        for name, value in texts(*rows).items()
    }
    first, second = torch.arange(2 * len(firsts)).chunk(2)
    return {**batch, SENTENCE: first, SECOND + SENTENCE: second}


BATCH = batch_of([words(n) for n in range(5)], [words(n, 6) for n in range(10, 15)])


def gur(encoder: Encoder, **values: Any) -> GUR:
    torch.manual_seed(4)
    return GUR(GURConfig(projection_dim=8, **values), encoder).train()


def test_what_belongs_together_is_known() -> None:
    """Pairs A–B, A–C, C–D, D–B and E–E': all but E's meet through a sentence they share."""
    a, b, c, d, e, f = (words(n, 4 + n) for n in range(6))
    pairs = [(a, b), (a, c), (c, d), (d, b), (e, f)]
    known = known_pairs(batch_of([x for x, _ in pairs], [y for _, y in pairs]))
    together = {frozenset(map(str, pair)) for pair in pairs}
    for i, (one, _) in enumerate(pairs):
        for j, (_, other) in enumerate(pairs):
            same = one == other or frozenset(map(str, (one, other))) in together
            assert bool(known[i, j]) == same, (i, j)


def test_a_pair_turned_round_or_twice_is_no_negative(encoder: Encoder) -> None:
    """Where all texts of a batch are of one pair, nothing is left to tell apart."""
    one, other = words(1), words(2, 4)
    method = gur(encoder, title_share=0)
    batch = batch_of([one, other, one], [other, one, other])
    contrast = method.terms(method.views(encoder, batch), batch)["contrast"]
    assert contrast.item() == pytest.approx(0, abs=1e-6)
    strangers = batch_of([one, words(3), one], [other, words(4), other])
    assert method.terms(method.views(encoder, strangers), strangers)["contrast"] > 0.1


def test_crops_of_one_sentence_are_no_negatives() -> None:
    """Pairs A–B, C–A' and D–E, where A and A' are of one sentence."""
    batch = batch_of([words(1), words(3), words(4)], [words(2), words(6), words(5)])
    assert known_pairs(batch).tolist() == torch.eye(3).bool().tolist()
    batch[SECOND + SENTENCE][1] = batch[SENTENCE][0]
    known = [[True, True, False], [False, True, False], [False, False, True]]
    assert known_pairs(batch).tolist() == known


def test_padding_makes_no_text_another() -> None:
    wide = batch_of([words(1, 3), words(2, 12)], [words(1, 3), words(3, 5)])
    assert known_pairs(wide).tolist() == [[True, False], [False, True]]


def test_terms_are_the_printed_ones(encoder: Encoder) -> None:
    method = gur(encoder, alpha=0.5)
    first, second, written, title = views = method.views(encoder, BATCH)
    assert (first.shape, second.shape, written.shape, title.shape) == (
        (5, 8),
        (5, 8),
        (5, 2),
        (1, 2),
    )
    terms = method.terms(views, BATCH)
    cosines = torch.nn.functional.cosine_similarity(first[:, None], second[None], dim=2) / 0.1
    cosines = cosines.detach()
    loss = 0.0
    for i in range(5):
        for row in (cosines[i], cosines[:, i]):
            loss -= math.log(math.exp(row[i]) / sum(math.exp(x) for x in row)) / 10
    assert terms["contrast"].item() == pytest.approx(0.5 * loss, rel=1e-4)
    assert terms["lm"].item() == pytest.approx((written[:, 0].sum() / written[:, 1].sum()).item())
    assert title[0, 1] == 3
    assert terms["title"].item() == pytest.approx((title[0, 0] / 3).item())


def test_a_pair_has_no_first_and_no_second(
    encoder: Encoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Turned round, and with nothing drawn at random in between, the terms are the same."""
    monkeypatch.setattr(
        "embedsearch.methods.gur.mask_spans", lambda both, *_: Denoising(both, both)
    )
    method = gur(encoder.eval(), title_share=0).eval()

    def terms(first: str, second: str) -> dict[str, Tensor]:
        batch = {**named(part(BATCH, first), ""), **named(part(BATCH, second), SECOND)}
        return method.terms(method.views(encoder, batch), batch)

    there, back = terms("", SECOND), terms(SECOND, "")
    assert there.keys() == {"contrast", "lm"}
    for name in there:
        torch.testing.assert_close(there[name], back[name])


def named(texts: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    names = ("input_ids", "attention_mask", SENTENCE)
    return {prefix + name: texts[name] for name in names}


def test_the_masked_pass_is_the_only_one(encoder: Encoder, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Tensor] = []
    states = Encoder.states

    def watched(self: Encoder, batch: dict[str, Tensor]) -> Tensor:
        seen.append(batch["input_ids"])
        return states(self, batch)

    monkeypatch.setattr(Encoder, "states", watched)
    monkeypatch.setattr(Encoder, "encode", None)
    gur(encoder).views(encoder, BATCH)
    sentences, documents = seen
    first = sentinels(encoder.tokenizer)[0]
    assert len(sentences) == 10 and (sentences == first).any(1).all()
    assert torch.equal(documents, BATCH[DOCUMENT + "input_ids"])


SWITCHES: list[tuple[dict[str, Any], set[str]]] = [
    ({}, {"contrast", "lm", "title"}),
    ({"lm": False}, {"contrast"}),
    ({"cl": False}, {"lm", "title"}),
    ({"title_share": 0}, {"contrast", "lm"}),
]


@pytest.mark.parametrize(("values", "wanted"), SWITCHES)
def test_gradients_reach_what_is_switched_on_and_nothing_else(
    values: dict[str, Any], wanted: set[str], encoder: Encoder
) -> None:
    method = gur(encoder, **values)
    batch = {
        name: value
        for name, value in BATCH.items()
        if "title" in wanted or not name.startswith((DOCUMENT, TITLE))
    }
    terms = method.terms(method.views(encoder, batch), batch)
    assert terms.keys() == wanted
    total(terms).backward()
    assert (method.decoder is None) == ("lm" not in wanted)
    for name, parameter in [*encoder.named_parameters(), *method.named_parameters()]:
        if name.startswith("projection.") and "contrast" not in wanted:
            assert parameter.grad is None
        else:
            assert parameter.grad is not None and torch.isfinite(parameter.grad).all(), name
            assert parameter.ndim < 2 or parameter.grad.abs().sum() > 0, name


def test_it_learns_both_tasks(encoder: Encoder) -> None:
    method = gur(encoder)
    [group] = method.parameter_groups(encoder, 3e-3)
    assert len({id(p) for p in group.parameters}) == len(group.parameters)
    optimiser = torch.optim.AdamW(group.parameters, lr=3e-3)
    seen: list[dict[str, float]] = []
    for _ in range(40):
        terms = method.terms(method.views(encoder, BATCH), BATCH)
        total(terms).backward()
        optimiser.step()
        optimiser.zero_grad()
        seen.append({name: term.item() for name, term in terms.items()})
    assert all(seen[-1][name] < 0.8 * seen[0][name] for name in seen[0])


def test_values_hold_what_has_an_effect() -> None:
    def gone(**values: Any) -> set[str]:
        return GURConfig().values().keys() - GURConfig(**values).values().keys()

    assert gone(lcs=False) == {"short_overlap", "long_overlap"}
    assert gone(lm=False) == {"title_share"}
    assert gone(cl=False) == {"alpha", "temperature"}
    mining = GURConfig(lcs=False).pairing().mining
    assert (mining.short_overlap, mining.long_overlap) == (0, 0)
    assert GURConfig(lm=False).pairing().title_share == 0


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"lm": False, "cl": False}, "nothing would be trained"),
        ({"short_overlap": 4}, "long_overlap is below short_overlap"),
        ({"batch_size": 1}, "greater than or equal to 2"),
        ({"mask_rate": 0.6}, "less than or equal to 0.5"),
    ],
)
def test_values_that_cannot_be(values: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        GURConfig(**values)


def test_backbones_that_cannot_be(make_backbone: Make, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is a bert, and GUR wants a t5"):
        GUR.check(GURConfig(), describe(str(make_backbone("bert", max_position_embeddings=128))))
    short = describe(str(make_backbone("t5", n_positions=64)))
    with pytest.raises(UserError, match="long_max_length 128 must lie between max_length 32 and"):
        GUR.check(GURConfig(), short)
    GUR.check(GURConfig(long_max_length=64), short)
    with pytest.raises(UserError, match="max_length 60"):
        GUR.check(GURConfig(max_length=60, long_max_length=40), short)
    folder = make_backbone("t5", n_positions=512)
    text = (folder / "tokenizer.json").read_text().replace("<extra_id_20>", "<other_20>")
    (folder / "tokenizer.json").write_text(text)
    config = folder / "tokenizer_config.json"
    config.write_text(config.read_text().replace("<extra_id_20>", "<other_20>"))
    GUR.check(GURConfig(), describe(str(folder)))
    with pytest.raises(UserError, match=r"has 20 of T5's <extra_id_0>.*mask_rate 0.3 can take 38"):
        GUR.check(GURConfig(mask_rate=0.3), describe(str(folder)))


# Whole trials.


@pytest.fixture
def setting(make_setting: Make, make_backbone: Make, tmp_path: Path) -> Make:
    """A setting of documents, English or Chinese, on a tiny T5."""

    def make(chinese: bool = False, **changes: Any) -> Setting:
        rows = [
            {"title": name, "text": f"{name}在中国。很多人去过{name}。{name}的冬天很冷。"}
            if chinese
            else {"title": name, "text": f"{name} is near. We went to {name}. It was {name} again."}
            for name in (HANS if chinese else TOWNS)
        ]
        path = tmp_path / "documents.jsonl"
        path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
        kept = keep_documents(open_documents(path), cache=tmp_path / "storage" / "cache")
        source = Source(str(kept.folder), kept.fingerprint, kept.name)
        backbone = make_backbone("t5", n_positions=128)
        found: Setting = make_setting(backbone, corpus=source, rows=len(kept), **changes)
        return found

    return make


def point(**values: Any) -> Any:
    return make_point("gur", **{"pooling": "eos", "batch_size": 8, "projection_dim": 8, **values})


def numbers(history: list[Measurement]) -> list[Any]:
    """All but what a clock says."""
    return [
        (m.step, {k: v for k, v in m.metrics.items() if k != "sentences_per_s"}) for m in history
    ]


@pytest.mark.parametrize("chinese", [False, True])
def test_a_trial_of_documents_leaves_an_encoder(
    chinese: bool, setting: Make, tmp_path: Path
) -> None:
    from sentence_transformers import SentenceTransformer

    seen: list[Measurement] = []
    spec = setting(chinese).spec(point())
    result = trial.run(spec, Place(tmp_path / "storage"), seen.append)
    assert result.status is Status.FINISHED, result.reason
    names = {"loss/contrast", "loss/lm", "loss/title", "loss", "dev/spearman", "sentences_per_s"}
    assert set(seen[-1].metrics) == names
    lines = ["A stone is here.", "长江是亚洲第一长河。", "x"]
    opened = SentenceTransformer(str(result.checkpoint), device="cpu", local_files_only=True)
    theirs = torch.tensor(opened.encode(lines))
    assert theirs.shape == (3, 8)
    dev = trial._dev_pairs(spec.dev.location, spec.dev.fingerprint)
    scored = trial.score_pairs(lambda texts: torch.tensor(opened.encode(texts)), dev)
    assert scored.spearman == pytest.approx(result.best_score, abs=1e-2)


class Killed(BaseException):
    """As good as kill -9 for what is on disk."""


def test_killed_and_gone_on_is_the_same_to_the_bit(setting: Make, tmp_path: Path) -> None:
    spec = setting(steps=6).spec(point())
    whole = trial.run(spec, Place(tmp_path / "storage"), lambda _: None)
    other = Place(tmp_path / "other", save_s=0)

    def die(measurement: Measurement) -> None:
        if measurement.step == 4:
            raise Killed

    with pytest.raises(Killed):
        trial.run(spec, other, die)
    torch.manual_seed(99)
    gone_on = trial.run(spec, other, lambda _: None)
    assert numbers(list(gone_on.history)) == numbers(list(whole.history))
    assert gone_on.best_score == whole.best_score
    assert weights(gone_on) == weights(whole)


def weights(result: TrialResult) -> bytes:
    """Of encoder and decoder, as exported."""
    return Path(str(result.checkpoint), "model.safetensors").read_bytes()


def test_the_decoder_is_that_of_the_best_step(
    setting: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Trained on to a worse score, it ends as where it was stopped at the best one."""

    begun: list[str] = []

    def trained(steps: int) -> TrialResult:
        scores = iter([1.0, 9.0, 5.0])
        monkeypatch.setattr(trial, "dev_score", lambda encoder, pairs: next(scores))
        spec = setting(steps=steps).spec(point(schedule="constant"))
        begun.append(spec.backbone.location)
        return trial.run(spec, Place(tmp_path / "storage"), lambda _: None)

    stopped, gone_on = trained(2), trained(4)
    assert (stopped.best_step, gone_on.best_step) == (2, 2)
    assert weights(gone_on) == weights(stopped)
    places = str(gone_on.checkpoint), begun[0]
    ours, before = (SequenceDecoder(Encoder.load(at, "eos")).state_dict() for at in places)
    assert not any(torch.equal(ours[name], before[name]) for name in before)


def test_without_a_language_model_the_encoder_is_alone(setting: Make, tmp_path: Path) -> None:
    spec = setting().spec(point(lm=False))
    result = trial.run(spec, Place(tmp_path / "storage"), lambda _: None)
    with pytest.raises(UserError, match="encoder without its decoder"):
        SequenceDecoder(Encoder.load(str(result.checkpoint), "eos"))


def test_epochs_are_of_pairs(setting: Make) -> None:
    """24 short pairs in batches of 8: the documents are mined for their number, at the plan."""
    assert setting(steps=None, epochs=2).spec(point()).total_steps == 6
    with pytest.raises(UserError, match="and a batch takes 64 or 16 of them"):
        setting(steps=None, epochs=2).spec(point(batch_size=64))


def test_steps_are_planned_without_mining(setting: Make, tmp_path: Path) -> None:
    spec = setting(steps=3).spec(point(batch_size=64))
    assert spec.total_steps == 3
    assert not (tmp_path / "storage" / "cache" / "pairs").exists()
    result = trial.run(spec, Place(tmp_path / "storage"), lambda _: None)
    assert result.status is Status.FAILED and "a batch takes 64 or 16" in result.reason


def test_an_ablation_is_another_point(setting: Make) -> None:
    made = [setting().spec(point(**{name: False})).id for name in ("lcs", "lm", "cl")]
    assert len({setting().spec(point()).id, *made}) == 4
