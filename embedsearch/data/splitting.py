"""Sentences of a running text, in scripts with and without spaces."""

from __future__ import annotations

import re

LONGEST = 1_024
"""Characters of a sentence; a longer one (a list, a table) goes on in the next."""

_ABBREVIATED = (
    "Mr Mrs Ms Dr Prof Rev Hon Gen Col Maj Capt Lt Sgt Gov Sen Rep Pres St Mt Ft Jr Sr Inc Ltd Co "
    "Corp Bros No Nos Vol vol pp Fig fig Eq eq approx ca cf al vs etc Jan Feb Mar Apr Jun Jul Aug "
    "Sep Sept Oct Nov Dec"
)
_NO_END = "".join(rf"(?<!\b{word}\.)" for word in ["[A-Za-z]", *_ABBREVIATED.split()])
_SPACED = re.compile(rf"([.!?…]{_NO_END}[.!?…]*[\"'”’»)\]]*)\s+(?=[\"'“‘«(\[]*[^\W_a-z])")
_UNSPACED = re.compile(r"([。！？｡]+[”’」』》）\"']*)")
_LINE_ENDS = re.compile(r"[\r\n\v\f\x1c-\x1e\x85\u2028\u2029]+")


def split_sentences(text: str) -> list[str]:
    """The sentences of ``text`` in order, none blank, words joined by single spaces.

    A sentence ends at a line's end, after ``。！？`` and what closes a quotation, and after
    ``. ! ? …`` where a space and something other than a lower-case letter follow; not after an
    initial (``H. G. Wells``) or an abbreviation such as ``Dr.``. One of more than ``LONGEST``
    characters is cut there, at a space if it has one.
    """
    text = _UNSPACED.sub("\\1\n", _SPACED.sub("\\1\n", _LINE_ENDS.sub("\n", text)))
    sentences = (" ".join(line.split()) for line in text.split("\n"))
    return [piece for sentence in sentences if sentence for piece in _pieces(sentence)]


def _pieces(sentence: str) -> list[str]:
    pieces = []
    while len(sentence) > LONGEST:
        cut = sentence.rfind(" ", 1, LONGEST + 1)
        cut = cut if cut > 0 else LONGEST
        pieces.append(sentence[:cut])
        sentence = sentence[cut:].lstrip()
    return [*pieces, sentence]
