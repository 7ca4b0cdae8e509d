"""The embedded demo: what its texts hold, that overlap does not solve it, that its nanos load."""

import re
import subprocess
import sys
from importlib import resources
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from scipy.stats import spearmanr
from transformers import AutoModel, AutoTokenizer, T5ForConditionalGeneration

from embedsearch.data.documents import open_documents

DEMO = Path(str(resources.files("embedsearch.data") / "demo"))
ROOT = Path(__file__).parents[2]
SPLITS = ("dev", "test")
NANOS = ("nano", "nano-t5")


def pairs(split: str) -> list[tuple[float, str, str]]:
    """The split's `(score, sentence, sentence)`."""
    lines = (DEMO / f"{split}.tsv").read_text(encoding="utf-8").splitlines()
    rows = [line.split("\t") for line in lines]
    assert {len(row) for row in rows} == {3}
    return [(float(score), first, second) for score, first, second in rows]


def key(sentence: str) -> str:
    """The sentence without case and marks."""
    return " ".join(re.findall(r"[a-z0-9']+", sentence.lower()))


def sentences() -> list[str]:
    """The lines of the corpus."""
    return (DEMO / "sentences.txt").read_text(encoding="utf-8").splitlines()


def keys(split: str) -> set[str]:
    """All sentences of a split, without case and marks."""
    return {key(sentence) for _, *both in pairs(split) for sentence in both}


def test_corpus_holds_varied_sentences_each_once() -> None:
    lines = sentences()
    assert 5_000 <= len(lines) <= 10_000
    assert len({key(line) for line in lines}) == len(lines)
    assert all(5 <= len(key(line).split()) <= 35 and line == line.strip() for line in lines)
    assert len({word for line in lines for word in key(line).split()}) > 10_000


@pytest.mark.parametrize("split", SPLITS)
def test_gold_spreads_from_0_to_5(split: str) -> None:
    scores = [score for score, _, _ in pairs(split)]
    assert len(scores) == 500
    assert {score: scores.count(score) >= 60 for score in range(6)} == dict.fromkeys(range(6), True)
    assert len(set(pairs(split))) == 500


def test_dev_test_and_corpus_share_no_sentence() -> None:
    dev, test, corpus = keys("dev"), keys("test"), {key(line) for line in sentences()}
    assert dev.isdisjoint(test)
    assert corpus.isdisjoint(dev | test)
    told = {key(text) for document in open_documents("demo") for text in document.sentences}
    assert told.isdisjoint(dev | test)


def test_documents_are_short_and_each_title_is_there_once() -> None:
    documents = list(open_documents("demo"))
    assert 1_500 <= len(documents) <= 2_500
    assert len({document.title.lower() for document in documents}) == len(documents)
    assert all(4 <= len(document.sentences) <= 60 for document in documents)


@pytest.mark.parametrize("split", SPLITS)
def test_shared_words_say_little_about_the_score(split: str) -> None:
    rows = [(score, set(key(a).split()), set(key(b).split())) for score, a, b in pairs(split)]
    overlap = [len(a & b) / len(a | b) for _, a, b in rows]
    assert 100 * spearmanr(overlap, [score for score, _, _ in rows]).statistic < 60


def test_pairs_are_what_their_maker_makes(tmp_path: Path) -> None:
    if not (ROOT / "experiments" / "demo" / "pairs.py").is_file():
        pytest.skip("the makers are not part of an installed package")
    command = [sys.executable, "-m", "experiments.demo.pairs", "--out", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True)
    for split in SPLITS:
        assert (tmp_path / f"{split}.tsv").read_bytes() == (DEMO / f"{split}.tsv").read_bytes()


def test_nano_loads_offline_with_its_whole_vocabulary(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    tokenizer = AutoTokenizer.from_pretrained(DEMO / "nano")
    model, report = AutoModel.from_pretrained(
        DEMO / "nano", dtype=torch.float32, output_loading_info=True
    )
    assert not any(report.values())
    assert len(tokenizer) == model.config.vocab_size == 8000
    ids = tokenizer("The cat is small.")["input_ids"]
    pieces = ["[CLS]", "the", "cat", "is", "small", ".", "[SEP]"]
    assert tokenizer.convert_ids_to_tokens(ids) == pieces
    config = model.config
    assert (config.model_type, config.num_hidden_layers, config.hidden_size) == ("bert", 2, 128)
    assert config.hidden_dropout_prob == config.attention_probs_dropout_prob == 0.1
    with torch.inference_mode():
        state = model(input_ids=torch.tensor([ids])).last_hidden_state
    assert state.shape == (1, 7, 128)
    assert state.isfinite().all()


def test_nano_t5_loads_offline_with_its_decoder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    model, report = T5ForConditionalGeneration.from_pretrained(
        DEMO / "nano-t5", dtype=torch.float32, output_loading_info=True
    )
    assert not any(report.values())
    config = model.config
    assert (config.num_layers, config.num_decoder_layers, config.d_model) == (2, 2, 128)
    assert config.dropout_rate == 0.1
    tokenizer = AutoTokenizer.from_pretrained(DEMO / "nano-t5")
    assert len(tokenizer) == config.vocab_size == 8000
    assert (tokenizer.pad_token_id, tokenizer.eos_token_id) == (0, 1)
    ids = tokenizer("The cat <extra_id_0> small.")["input_ids"]
    pieces = ["▁the", "▁cat", "<extra_id_0>", "▁small", ".", "</s>"]
    assert tokenizer.convert_ids_to_tokens(ids) == pieces
    sentinels = tokenizer.convert_tokens_to_ids([f"<extra_id_{i}>" for i in range(100)])
    assert sentinels == list(range(7999, 7899, -1))


@pytest.mark.parametrize("text", ["北京是中国的首都，人口很多。", "𠮷野家 déjà vu 😀"])
def test_nano_t5_loses_nothing_of_any_script(text: str) -> None:
    tokenizer = AutoTokenizer.from_pretrained(DEMO / "nano-t5")
    ids = tokenizer(text)["input_ids"]
    assert tokenizer.unk_token_id not in ids
    assert tokenizer.decode(ids, skip_special_tokens=True) == text


@pytest.mark.parametrize(("nano", "pieces_a_word"), [("nano", 1.25), ("nano-t5", 1.35)])
def test_nano_knows_the_words_of_the_pairs(nano: str, pieces_a_word: float) -> None:
    tokenizer = AutoTokenizer.from_pretrained(DEMO / nano)
    texts = sorted(keys("dev"))
    pieces = sum(len(tokenizer.tokenize(text)) for text in texts)
    assert pieces < pieces_a_word * sum(len(text.split()) for text in texts)
    assert tokenizer.unk_token_id not in {i for t in texts for i in tokenizer(t)["input_ids"]}


def test_demo_is_small_and_its_weights_are_half_precision() -> None:
    files = [path for path in DEMO.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) <= 9_500_000
    assert not [path for path in files if path.suffix in {".bin", ".pt", ".pkl"}]
    for nano in NANOS:
        weights = load_file(DEMO / nano / "model.safetensors")
        assert {weight.dtype for weight in weights.values()} == {torch.float16}


def test_notice_of_the_source_is_shipped() -> None:
    notice = (DEMO / "NOTICE").read_text(encoding="utf-8")
    assert "WordNet 3.0 Copyright 2006 by Princeton University" in notice
