"""Prints how far the demo's pairs can be trusted: many encoders' scores there and on STS-B dev.

The encoders: every layer of the folders given under mean and [CLS] pooling, with the bag of their
static input embeddings; the nano with BERT's own initialisation, as shipped, and trained by SimCSE
on the demo's sentences for several numbers of steps. Word overlap and tf-idf stand apart. A score
is Spearman × 100 between cosine and gold. Below the table: Pearson and Spearman correlation between
the columns over the encoders (the peers left out), for all of them and for the nanos alone.

    python -m experiments.demo.trust --dev ../shared/data/SentEval/downstream --encoder FOLDER
"""

import argparse
import itertools
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.nn.functional as F
from scipy.stats import pearsonr, spearmanr
from sklearn.feature_extraction.text import TfidfVectorizer
from transformers import AutoModel, AutoTokenizer, BertModel, PreTrainedTokenizerBase
from transformers.utils import logging

STEPS = (50, 100, 200, 300)
SEEDS = (0, 1, 2)
TEMPERATURE = 0.05


@dataclass(frozen=True)
class Pairs:
    """Gold scores and the sentences of each side."""

    gold: list[float]
    first: list[str]
    second: list[str]

    def score(self, cosines: list[float]) -> float:
        """Spearman × 100 between the cosines and gold."""
        return 100 * float(spearmanr(cosines, self.gold).statistic)


def read(path: Path) -> Pairs:
    """The pairs of a TSV (score, two sentences), of an STS-B CSV, or of a SentEval folder."""
    if path.is_dir():
        path = next(path.rglob("sts-dev.csv"))
    rows = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()]
    skip = 4 if path.suffix == ".csv" else 0
    gold, first, second = zip(*(row[skip : skip + 3] for row in rows), strict=True)
    return Pairs([float(score) for score in gold], list(first), list(second))


@torch.inference_mode()
def views(
    model: BertModel, tokenizer: PreTrainedTokenizerBase, sentences: list[str]
) -> dict[str, torch.Tensor]:
    """Embeddings `(sentences, dim)` by name: the static bag, each layer's mean and [CLS]."""
    model.eval()
    order = sorted(range(len(sentences)), key=lambda i: len(sentences[i]))
    found: dict[str, list[torch.Tensor]] = {}
    for start in range(0, len(order), 64):
        texts = [sentences[i] for i in order[start : start + 64]]
        batch = tokenizer(texts, padding=True, truncation=True, max_length=128, return_tensors="pt")
        hidden = model(**batch, output_hidden_states=True).hidden_states
        mask = batch["attention_mask"]
        static = model.get_input_embeddings()(batch["input_ids"])
        found.setdefault("static mean", []).append(mean(static, mask))
        for layer, state in enumerate(hidden):
            found.setdefault(f"layer {layer} mean", []).append(mean(state, mask))
            if layer:
                found.setdefault(f"layer {layer} cls", []).append(state[:, 0])
    back = torch.tensor(order).argsort()
    return {name: torch.cat(parts)[back] for name, parts in found.items()}


def mean(state: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """The mean `(batch, dim)` over the tokens that are no padding."""
    weight = mask.unsqueeze(-1).to(state.dtype)
    return (state * weight).sum(1) / weight.sum(1)


def nano(folder: Path, seed: int | None) -> BertModel:
    """The folder's model in single precision: as shipped, or initialised as BERT for a seed."""
    model = AutoModel.from_pretrained(folder, dtype=torch.float32)
    if seed is not None:
        torch.manual_seed(seed)
        model = BertModel(model.config)
    return model


def simcse(
    model: BertModel,
    tokenizer: PreTrainedTokenizerBase,
    sentences: list[str],
    seed: int,
    rate: float,
) -> Iterator[int]:
    """Trains the model in place (mean pooling, batch 64, length 32); yields after each of STEPS."""
    torch.manual_seed(seed)
    rng = random.Random(seed)
    optimiser = torch.optim.AdamW(model.parameters(), lr=rate, weight_decay=0.0)
    epochs = (rng.sample(sentences, len(sentences)) for _ in itertools.count())
    stream = itertools.chain.from_iterable(epochs)
    for step in range(1, STEPS[-1] + 1):
        model.train()
        texts = list(itertools.islice(stream, 64))
        batch = tokenizer(
            texts * 2, padding=True, truncation=True, max_length=32, return_tensors="pt"
        )
        state = model(**batch).last_hidden_state
        first, second = F.normalize(mean(state, batch["attention_mask"]), dim=1).chunk(2)
        loss = F.cross_entropy(first @ second.T / TEMPERATURE, torch.arange(len(texts)))
        optimiser.param_groups[0]["lr"] = rate * (1 - (step - 1) / STEPS[-1])
        optimiser.zero_grad()
        torch.autograd.backward(loss)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        if step in STEPS:
            yield step


class Table:
    """Scores by encoder over the pairs given, printed as it is filled."""

    def __init__(self, sets: dict[str, Pairs]) -> None:
        self.sets = sets
        self.sentences = sorted({s for p in sets.values() for s in (*p.first, *p.second)})
        self.place = {sentence: i for i, sentence in enumerate(self.sentences)}
        self.rows: dict[str, list[float]] = {}
        print(f"{'encoder':38s}" + "".join(f"{name:>10s}" for name in sets))

    def add(self, name: str, embeddings: torch.Tensor, peer: bool = False) -> None:
        """Scores the embeddings `(sentences, dim)`; those of a peer count in no correlation."""
        unit = F.normalize(embeddings.float(), dim=1)
        scores = []
        for pairs in self.sets.values():
            first, second = ([self.place[s] for s in side] for side in (pairs.first, pairs.second))
            scores.append(pairs.score((unit[first] * unit[second]).sum(1).tolist()))
        print(f"{name:38s}" + "".join(f"{score:10.1f}" for score in scores), flush=True)
        if not peer:
            self.rows[name] = scores

    def correlate(self, prefix: str) -> None:
        """Prints the correlations between the columns over the encoders of that prefix."""
        rows = [scores for name, scores in self.rows.items() if name.startswith(prefix)]
        columns = dict(zip(self.sets, zip(*rows, strict=True), strict=True))
        print(f"\ncorrelation over {len(rows)} encoders {prefix}")
        for (one, x), (other, y) in itertools.combinations(columns.items(), 2):
            pearson, spearman = pearsonr(x, y).statistic, spearmanr(x, y).statistic
            print(f"  {one} and {other}: Pearson {pearson:.3f}, Spearman {spearman:.3f}")


def add_peers(table: Table) -> None:
    """Word overlap (words shared over words of both) and the cosine of tf-idf vectors."""
    pattern = r"[a-z0-9']+"
    weights = TfidfVectorizer(token_pattern=pattern).fit_transform(table.sentences)
    table.add("peer: tf-idf", torch.tensor(weights.toarray()), peer=True)
    words = {s: set(re.findall(pattern, s.lower())) for s in table.sentences}
    scores = []
    for pairs in table.sets.values():
        both = [(words[a], words[b]) for a, b in zip(pairs.first, pairs.second, strict=True)]
        scores.append(pairs.score([len(a & b) / max(1, len(a | b)) for a, b in both]))
    print(f"{'peer: word overlap':38s}" + "".join(f"{score:10.1f}" for score in scores))


def add_folder(table: Table, folder: Path) -> None:
    """Every layer of a pretrained encoder."""
    tokenizer = AutoTokenizer.from_pretrained(folder)
    for name, embeddings in views(nano(folder, None), tokenizer, table.sentences).items():
        table.add(f"{folder.resolve().parent.name} {name}"[-38:], embeddings)


def add_nanos(table: Table, folder: Path, sentences: list[str], rate: float) -> None:
    """The nano with BERT's initialisation, as shipped, and trained by SimCSE, for each seed."""
    tokenizer = AutoTokenizer.from_pretrained(folder)
    last = ("layer 2 mean", "layer 2 cls")
    for seed in SEEDS:
        found = views(nano(folder, seed + 1), tokenizer, table.sentences)
        for view in (*last, "static mean"):
            table.add(f"nano random seed {seed + 1} {view}", found[view])
    found = views(nano(folder, None), tokenizer, table.sentences)
    for view, embeddings in found.items():
        table.add(f"nano shipped {view}", embeddings)
    for seed in SEEDS:
        model = nano(folder, None)
        for step in simcse(model, tokenizer, sentences, seed, rate):
            found = views(model, tokenizer, table.sentences)
            for view in last if step == STEPS[-1] else last[:1]:
                table.add(f"nano simcse seed {seed} step {step} {view}", found[view])


def main() -> None:
    """Prints the table and the correlations."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--demo", type=Path, default=Path("embedsearch/data/demo"))
    parser.add_argument("--dev", type=Path, required=True, help="STS-B dev: CSV or SentEval folder")
    parser.add_argument("--encoder", type=Path, action="append", default=[])
    parser.add_argument("--rate", type=float, default=3e-3, help="learning rate of SimCSE")
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    torch.set_num_threads(args.threads)
    sets = {name: read(args.demo / f"{name}.tsv") for name in ("dev", "test")}
    table = Table({"demo dev": sets["dev"], "demo test": sets["test"], "STS-B dev": read(args.dev)})
    sentences = (args.demo / "sentences.txt").read_text(encoding="utf-8").splitlines()
    for folder in args.encoder:
        add_folder(table, folder)
    add_nanos(table, args.demo / "nano", sentences, args.rate)
    add_peers(table)
    table.correlate("")
    table.correlate("nano")


if __name__ == "__main__":
    main()
