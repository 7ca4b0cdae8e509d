"""What a text is made of, word by word: the terms that BM25 matches."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from embedsearch.data.units import UNSPACED

K1, B = 1.5, 0.75

LEXICAL = (
    f"bm25s, Lucene's formula, k1 {K1:g}, b {B:g}; terms: lower case, runs of two letters or "
    "digits at least, each character of scripts without spaces (Han) by itself, without Lucene's "
    "33 English stop words, stemmed by Snowball's English stemmer"
)

TERM = re.compile(rf"[{UNSPACED}]|[^\W{UNSPACED}]{{2,}}")


def terms(text: str) -> list[str]:
    """The terms of ``text`` in their order, stop words left out, as they are written."""
    from bm25s.stopwords import STOPWORDS_EN

    return [term for term in TERM.findall(text.lower()) if term not in STOPWORDS_EN]


class BM25:
    """BM25 over ``documents``."""

    def __init__(self, documents: Sequence[str]) -> None:
        import bm25s
        from Stemmer import Stemmer

        self._stem = Stemmer("english").stemWords
        self._documents = len(documents)
        tokens = [self._stem(terms(text)) for text in documents]
        self._index: bm25s.BM25 | None = None
        if any(tokens):
            self._index = bm25s.BM25(k1=K1, b=B, method="lucene")
            self._index.index(tokens, show_progress=False)

    def scores(self, queries: Sequence[str]) -> NDArray[np.float32]:
        """(queries, documents); 0 where a document has no term of the query."""
        found = np.zeros((len(queries), self._documents), dtype=np.float32)
        for row, query in enumerate(queries):
            if self._index and (ids := self._index.get_tokens_ids(self._stem(terms(query)))):
                found[row] = self._index.get_scores(ids)
        return found
