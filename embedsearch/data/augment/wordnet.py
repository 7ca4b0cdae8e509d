"""``wnet``: words replaced by synonyms out of WordNet's own files."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from random import Random

from embedsearch.data.augment.words import Words, changed, draw, dressed
from embedsearch.data.lines import read_lines
from embedsearch.errors import UserError

DEBIAN = Path("/usr/share/wordnet")
"""Where the package ``wordnet-base`` puts the files."""

Synonyms = Mapping[str, tuple[str, ...]]
"""By word in lower case; sorted."""

_GRAMMAR = (
    "a about above after all am any are as at be before being below between but by can do down "
    "each have he here i in may me might more most must no not now off on once only or other out "
    "over own same so some such then there through too under up us while why will within"
)
"""Function words, which WordNet lists in another sense: ``in`` is indium there, ``may`` a tree."""

_FILES = ("data.noun", "data.verb", "data.adj", "data.adv")


def find(location: str | None) -> Path:
    """The folder of WordNet's dict files: ``location``, or where Debian has it.

    Raises ``UserError`` where a file is missing.
    """
    folder = DEBIAN if location is None else Path(location).expanduser().resolve()
    for name in _FILES:
        if not (folder / name).is_file():
            raise UserError(
                f"augment wnet reads WordNet, and there is no {folder / name}: install Debian's "
                "wordnet-base, or give the folder that has it by augment_source=FOLDER"
            )
    return folder


def fingerprint(folder: Path) -> str:
    """Names the content of the files that are read."""
    digest = hashlib.sha256()
    for name in _FILES:
        digest.update((folder / name).read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def read_synonyms(folder: Path) -> Synonyms:
    """Every single word's synonyms: the other single words of all synsets it is in.

    Function words have none and are none. Raises ``UserError``, with file and line, for what is
    not in WordNet's format, wndb(5WN).
    """
    left_out = set(_GRAMMAR.split())
    found: defaultdict[str, set[str]] = defaultdict(set)
    for name in _FILES:
        for synset in _synsets(folder / name):
            words = [w for w in synset if "_" not in w and w.lower() not in left_out]
            for word in words:
                key = word.lower()
                found[key].update(other for other in words if other.lower() != key)
    return {word: tuple(sorted(others)) for word, others in found.items() if others}


def _synsets(path: Path) -> Iterator[list[str]]:
    """The words of each line ``offset file type count word id word id … | gloss``; what starts
    with a space is the licence. An adjective may say its place: ``galore(ip)``."""
    for number, line in enumerate(read_lines(path), start=1):
        if line.startswith(" ") or not line:
            continue
        fields = line.partition("|")[0].split()
        try:
            count = int(fields[3], 16)
            words = [fields[4 + 2 * i].partition("(")[0] for i in range(count)]
        except (IndexError, ValueError) as error:
            raise UserError(
                f"{path}, line {number}: no synset of WordNet's; give its own files"
            ) from error
        yield words


def substitute(sentence: str, rate: float, synonyms: Synonyms, random: Random) -> str:
    """``sentence`` with words replaced by synonyms, each drawn alike from those of all senses.

    ``rate`` counts all words (``words.changed``), and the words that have a synonym are drawn
    from: as many as there are, where they are fewer; none leaves the sentence as it is. A word is
    looked up as it stands, in lower case, so an inflected form stays: a synonym, which WordNet has
    uninflected only, would break it. A capital is kept.
    """
    parts = Words.of(sentence)
    places = [i for i, word in enumerate(parts.words) if word.lower() in synonyms]
    for place in draw(places, changed(rate, len(parts)), random):
        word = parts.words[place]
        parts.words[place] = dressed(random.choice(synonyms[word.lower()]), like=word)
    return str(parts)
