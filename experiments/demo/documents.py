"""Makes `documents.jsonl`: 2,000 short English documents with titles, to mine pairs from.

A document is about a noun of WordNet 3.0: its word is the title; the text is its definition and
examples, then the definitions and examples of its kinds. So sentences of one document share terms.
Coarse words are left out, and kinds beyond the eighth. The licence is `NOTICE`, as the sentences'.
Needs the dictionary files (Debian's package `wordnet-base`).

    python -m experiments.demo.documents --wordnet /usr/share/wordnet --out embedsearch/data/demo
"""

import argparse
import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from experiments.demo.sentences import COARSE, EXAMPLE, written

KINDS = range(3, 13)
"""How many kinds a noun has that is made a document: with more, its definition says little."""
TAKEN = 8


@dataclass(frozen=True)
class Noun:
    """A synset: its first word, what it means, and where its kinds are."""

    word: str
    definition: str
    examples: tuple[str, ...]
    kinds: tuple[str, ...]

    @property
    def sentences(self) -> list[str]:
        """Its definition after its word, then its examples."""
        return [written(f"{self.word}: {self.definition}"), *map(written, self.examples)]

    @property
    def usable(self) -> bool:
        """Whether all of it is ASCII without coarse words."""
        text = " ".join(self.sentences)
        return text.isascii() and not COARSE.search(text.lower())


def nouns(wordnet: Path) -> Iterator[tuple[str, Noun]]:
    """Every noun synset with its offset, in the order of the file."""
    with (wordnet / "data.noun").open(encoding="utf-8") as lines:
        for line in lines:
            if not line.startswith("  "):
                fields, gloss = line.split(" | ", 1)
                offset, _, _, count, word, *rest = fields.split()
                pointers = rest[2 * int(count, 16) :]
                kinds = tuple(pointers[n + 1] for n, sign in enumerate(pointers) if sign == "~")
                found = EXAMPLE.findall(gloss)
                examples = (text.strip(" ,;:") for text, quotation in found if not quotation)
                definition = gloss.split('"')[0].strip(" ,;:\n")
                told = tuple(filter(None, examples))
                yield offset, Noun(word.replace("_", " "), definition, told, kinds)


def documents(wordnet: Path) -> list[dict[str, str]]:
    """Every noun with enough kinds, as a title and a text, each title once."""
    known = dict(nouns(wordnet))
    made: dict[str, dict[str, str]] = {}
    for noun in known.values():
        kinds = [known[offset] for offset in noun.kinds if known[offset].usable]
        if noun.usable and len(kinds) in KINDS:
            told = [noun, *kinds[:TAKEN]]
            title = noun.word[0].upper() + noun.word[1:]
            text = " ".join(sentence for each in told for sentence in each.sentences)
            made.setdefault(title.lower(), {"title": title, "text": text})
    return list(made.values())


def main() -> None:
    """Writes `documents.jsonl` into the folder given."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--wordnet", type=Path, default=Path("/usr/share/wordnet"))
    parser.add_argument("--out", type=Path, default=Path("embedsearch/data/demo"))
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    usable = documents(args.wordnet)
    chosen = random.Random(args.seed).sample(usable, args.count)
    args.out.mkdir(parents=True, exist_ok=True)
    path = args.out / "documents.jsonl"
    path.write_text("".join(f"{json.dumps(made)}\n" for made in chosen), encoding="utf-8")
    print(f"{len(chosen)} of {len(usable)} usable documents written to {path}")


if __name__ == "__main__":
    main()
