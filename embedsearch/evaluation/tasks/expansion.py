"""Zero-shot query expansion (GUR): are the words that a decoder adds to a query those of its
relevant documents?"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from embedsearch.data.collection import Collection, read_collection
from embedsearch.data.counted import counted
from embedsearch.data.lines import read_lines
from embedsearch.data.units import GLUE
from embedsearch.encoder.seq2seq import SequenceDecoder, sentinels
from embedsearch.errors import UserError
from embedsearch.evaluation.lexical import TERM, terms
from embedsearch.evaluation.task import DataSet, Kind, Outcome, Score, Subject
from embedsearch.evaluation.tasks.retrieval import RETRIEVAL
from embedsearch.records import content_id

METRICS = ("auto", "written")
QUERIES = 50
KEYWORDS = 3
FEWEST_TOKENS, MOST_TOKENS = 8, 32
SAMPLES = 3

PROMPTS: tuple[str, ...] = ("{query} This is about {mask}.",)
"""Those by hand, where the user gives none."""

_PROTOCOL = (
    "our measure (GUR prints samples alone): of the distinct terms written for a query that it "
    "does not have, the share x100 in its relevant documents, mean over those of the first "
    f"{QUERIES} queries with any; chance: the same of the terms written for another query, mean "
    f"over all pairs of queries. Written greedily, {FEWEST_TOKENS} to {MOST_TOKENS} tokens, no two "
    f"in a row twice. auto: T5's sentinels hide all but the query's {KEYWORDS} terms in the fewest "
    "documents; written: {prompts}. Terms are bm25's without words of closed classes"
)


@dataclass(frozen=True)
class Expansion:
    """A collection's queries, and the prompts that ask for words beside them."""

    name: str
    collection: Collection
    prompts: tuple[str, ...] = PROMPTS

    @property
    def protocol(self) -> str:
        return _PROTOCOL.replace("{prompts}", " | ".join(self.prompts))

    @property
    def fingerprint(self) -> str:
        return content_id([self.collection.fingerprint, *self.prompts])

    def texts(self) -> Iterable[str]:
        """None: it asks the decoder, not the embeddings."""
        return ()

    def score(self, subject: Subject) -> Outcome:
        """``auto`` and ``written``, each with its ``chance``, and samples in the notes; of a
        checkpoint that can't write neither, with the reason."""
        encoder = subject.encoder()
        if encoder.facts.architecture != "t5" or not sentinels(encoder.tokenizer):
            return _unable("it is no T5 with sentinels, and only such a one writes")
        try:
            decoder = SequenceDecoder(encoder).to(encoder.device)
        except UserError:
            return _unable("it is a T5's encoder alone, without the decoder that writes")
        return self.judge(lambda texts: decoder.write(encoder, texts, FEWEST_TOKENS, MOST_TOKENS))

    def judge(self, write: Callable[[Sequence[str]], list[str]]) -> Outcome:
        """Scores of what ``write`` gives to each of some texts."""
        queries = self.collection.queries[:QUERIES]
        counts = Counter(term for text in self.collection.documents for term in _content(text))
        styles = {
            "auto": [[_automatic(query, counts)] for query in queries],
            "written": [[_filled(prompt, query) for prompt in self.prompts] for query in queries],
        }
        scores: list[Score] = []
        notes = [f"{len(queries)} of {len(self.collection.queries):,} queries"]
        for style, texts in styles.items():
            flat = [text for group in texts for text in group]
            answers = dict(zip(flat, write(flat), strict=True))
            new = [
                _content(*(answers[text] for text in group)) - _content(query)
                for group, query in zip(texts, queries, strict=True)
            ]
            scores += self._shares(style, new)
            nothing = sum(not added for added in new)
            notes += [f"{style}: {counted(nothing, 'query')} without a new term"] if nothing else []
            notes += [f"{style}: {text} => {answers[text]}" for text in flat[:SAMPLES]]
        return Outcome(tuple(scores), tuple(notes))

    def _shares(self, style: str, new: Sequence[set[str]]) -> list[Score]:
        """How much of what is ``new`` to each query its relevant documents have, and how much of
        what is new to the others."""
        own: list[float] = []
        others: list[float] = []
        for row, relevant in enumerate(self.collection.gains[: len(new)]):
            asked = _content(self.collection.queries[row])
            there = _content(*(self.collection.documents[document] for document in relevant))
            for other, added in enumerate(new):
                if tried := added - asked:
                    share = 100 * len(tried & there) / len(tried)
                    (own if other == row else others).append(share)
        return [_mean(style, own), _mean(f"{style}/chance", others)]


def _content(*texts: str) -> set[str]:
    """The distinct terms of ``texts`` together, words of closed classes and sentinels left out."""
    return set(terms(re.sub(r"<extra_id_\d+>", " ", " ".join(texts)))) - GLUE


def _automatic(query: str, counts: Counter[str]) -> str:
    """``query`` with all hidden but its rarest terms that any document has."""
    there = sorted((term for term in _content(query) if counts[term]), key=lambda t: (counts[t], t))
    return masked(query, there[:KEYWORDS])


def masked(query: str, kept: Container[str]) -> str:
    """``query`` with a sentinel for all that stands between the terms that are ``kept``, and where
    nothing does, at its end."""
    spans = [found.span() for found in TERM.finditer(query) if found[0].lower() in kept]
    prompt, end = "", 0
    for start, stop in [*spans, (len(query), len(query))]:
        gap = query[end:start]
        prompt += (" {mask} " if any(map(str.isalnum, gap)) else gap) + query[start:stop]
        end = stop
    return _filled(prompt if "{mask}" in prompt else f"{prompt} {{mask}}")


def _filled(prompt: str, query: str = "") -> str:
    """``prompt`` about ``query``, with a sentinel for each of its masks."""
    *parts, last = prompt.split("{mask}")
    text = "".join(f"{part}<extra_id_{number}>" for number, part in enumerate(parts)) + last
    return " ".join(text.replace("{query}", query).split())


def _mean(name: str, shares: Sequence[float]) -> Score:
    if not shares:
        return Score(name, None, reason="no new term was written")
    return Score(name, fmean(shares))


def _unable(reason: str) -> Outcome:
    return Outcome(tuple(Score(name, None, reason=reason) for name in METRICS))


def _own(name: str, files: Sequence[Path]) -> Expansion:
    """A collection's folder, and perhaps a file of prompts, one a line."""
    if len(files) > 2:
        raise UserError(f"{len(files)} files are given; name a collection's folder and its prompts")
    collection = read_collection(files[0])
    if len(files) == 1:
        return Expansion(name, collection)
    return Expansion(name, collection, _prompts(files[1]))


def _prompts(file: Path) -> tuple[str, ...]:
    prompts = {at: text for at, line in enumerate(read_lines(file), 1) if (text := line.strip())}
    wrong = [at for at, text in prompts.items() if "{query}" not in text or "{mask}" not in text]
    if wrong or not prompts:
        place = f"{file}, line {wrong[0]}" if wrong else str(file)
        raise UserError(f"{place}: give prompts, one a line, each with {{query}} and {{mask}}")
    return tuple(prompts.values())


EXPANSION = Kind(
    "expansion",
    (DataSet("expansion-cranfield", "retrieval/cranfield", RETRIEVAL.sets[0].source),),
    lambda data, path: Expansion(data.name, read_collection(path)),
    _own,
    layout=(
        "FOLDER as for retrieval; perhaps a file of prompts, one a line, each with {query} and "
        "{mask}"
    ),
    metrics=METRICS,
)
