"""Query expansion: prompts, the share of the terms written that are there, and who can write."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from embedsearch.data.collection import collect_judged
from embedsearch.encoder.export import export
from embedsearch.encoder.model import Encoder
from embedsearch.encoder.seq2seq import SequenceDecoder
from embedsearch.errors import UserError
from embedsearch.evaluation.suite import Chosen, choose
from embedsearch.evaluation.task import Outcome, Subject
from embedsearch.evaluation.tasks.expansion import Expansion, masked

DOCUMENTS = [("1", "wing flow and drag"), ("2", "heat in slabs"), ("3", "wing loads, wing bends")]
QUERIES = [("1", "what of the wing"), ("2", "papers on heat")]
JUDGED = [("1", "1", 1), ("1", "3", 2), ("2", "2", 1)]
PROMPTS = ("{query} is {mask} and {mask}", "{mask}: {query}")


def task(prompts: tuple[str, ...] = PROMPTS) -> Expansion:
    return Expansion("made", collect_judged(Path("made"), DOCUMENTS, QUERIES, JUDGED), prompts)


def values(outcome: Outcome) -> dict[str, float | None]:
    return {score.name: score.value for score in outcome.scores}


@pytest.mark.parametrize(
    ("query", "kept", "prompt"),
    [
        ("what of the Wing?", ["wing"], "<extra_id_0> Wing?"),
        ("heat flow in hot slabs .", ["heat", "hot"], "heat <extra_id_0> hot <extra_id_1>"),
        ("heat-flow slabs", ["heat", "flow", "slabs"], "heat-flow slabs <extra_id_0>"),
        ("长江在哪里", ["长", "江"], "长江 <extra_id_0>"),
        ("", [], "<extra_id_0>"),
    ],
)
def test_what_is_no_keyword_is_masked(query: str, kept: list[str], prompt: str) -> None:
    assert masked(query, kept) == prompt


def test_shares_worked_by_hand() -> None:
    """Of "drag, loads, heat" two are in the wing's documents, of "slabs" one in the heat's."""
    answers = {
        "<extra_id_0> wing": "<extra_id_0> the drag wing <extra_id_1> loads heat",
        "<extra_id_0> heat": "slabs",
        "what of the wing is <extra_id_0> and <extra_id_1>": "wing",
        "papers on heat is <extra_id_0> and <extra_id_1>": "drag",
        "<extra_id_0>: what of the wing": "",
        "<extra_id_0>: papers on heat": "drag slabs",
    }

    def write(texts: Sequence[str]) -> list[str]:
        return [answers[text] for text in texts]

    outcome = task().judge(write)
    assert values(outcome) == {
        "auto": pytest.approx(100 * (2 / 3 + 1) / 2),
        "auto/chance": 0,
        "written": pytest.approx(50),
        "written/chance": pytest.approx(50),
    }
    assert outcome.notes[0] == "2 of 2 queries"
    assert "auto: <extra_id_0> heat => slabs" in outcome.notes
    assert "written: 1 query without a new term" in outcome.notes


def test_nothing_new_is_no_score() -> None:
    outcome = task().judge(lambda texts: ["is it <extra_id_1> the" for _ in texts])
    assert set(values(outcome).values()) == {None}
    assert outcome.scores[0].reason == "no new term was written"


def test_a_t5_writes(make_backbone: Callable[..., Path], tmp_path: Path) -> None:
    """Its own decoder, or that of an export; always the same, whatever is asked beside it."""
    encoder = Encoder.load(str(make_backbone("t5")), "eos")
    decoder = SequenceDecoder(encoder)
    texts = ["wing <extra_id_0>", "", "😀 <extra_id_0> heat in slabs", "x " * 99]
    written = decoder.write(encoder, texts, 2, 5)
    assert written == [decoder.write(encoder, [text], 2, 5)[0] for text in texts]
    assert any(written)
    export(encoder, tmp_path / "out", decoder)
    again = Encoder.load(str(tmp_path / "out"), "eos")
    assert SequenceDecoder(again).write(again, texts, 2, 5) == written
    asked = Subject(lambda texts: pytest.fail("no embeddings"), lambda: again)
    assert (
        task().score(asked).scores
        == task().judge(lambda texts: decoder.write(encoder, texts, 8, 32)).scores
    )


@pytest.mark.parametrize(
    ("architecture", "reason"), [("bert", "no T5 with sentinels"), ("t5", "encoder alone")]
)
def test_who_cannot_write_has_a_reason(
    architecture: str, reason: str, make_backbone: Callable[..., Path], tmp_path: Path
) -> None:
    export(Encoder.load(str(make_backbone(architecture)), "mean"), tmp_path / "out")
    alone = Encoder.load(str(tmp_path / "out"), "mean")
    scores = task().score(Subject(lambda texts: pytest.fail("no"), lambda: alone)).scores
    assert [(score.name, score.value) for score in scores] == [("auto", None), ("written", None)]
    assert reason in scores[0].reason


def own_folder(folder: Path, prompts: str) -> Path:
    (folder / "made").mkdir(parents=True)
    (folder / "made" / "cran.all.1400").write_text(".I 1\n.T\n.W\nwing\n", encoding="utf-8")
    (folder / "made" / "cran.qry").write_text(".I 1\n.W\nwing\n", encoding="utf-8")
    (folder / "made" / "cranqrel").write_text("1 1 1\n", encoding="utf-8")
    (folder / "prompts.txt").write_text(prompts, encoding="utf-8")
    table = "kind: expansion\nfiles: [made, prompts.txt]\nmetric: written\n"
    (folder / "task.yaml").write_text(table, encoding="utf-8")
    return folder


def test_prompts_of_ones_own(tmp_path: Path) -> None:
    folder = own_folder(tmp_path / "mine", "\n {query}: {mask} \n\n{mask} {query}\n")
    (chosen,) = choose([str(folder)], None)
    assert isinstance(chosen, Chosen)
    assert isinstance(chosen.task, Expansion)
    assert chosen.task.prompts == ("{query}: {mask}", "{mask} {query}")
    assert (chosen.task.name, chosen.metric) == ("mine", "written")
    assert "{query}: {mask} | {mask} {query}" in chosen.task.protocol
    (plain,) = choose([f"expansion:{folder / 'made'}"], None)
    assert isinstance(plain, Chosen)
    assert plain.task.fingerprint != chosen.task.fingerprint
    assert list(plain.task.texts()) == []


@pytest.mark.parametrize(
    ("prompts", "line"),
    [("", ""), ("{query} is it", ", line 1"), ("{query} {mask}\nabout {mask}", ", line 2")],
)
def test_a_prompt_without_query_or_mask_is_refused(prompts: str, line: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=rf"prompts\.txt{line}: give prompts"):
        choose([str(own_folder(tmp_path / "mine", prompts))], None)
