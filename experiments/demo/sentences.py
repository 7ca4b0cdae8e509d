"""Makes `sentences.txt`: 8,000 English sentences, one a line, to train the demo on.

They are example sentences of WordNet 3.0, written by its lexicographers to show a word in use.
WordNet may be copied and changed freely as long as its notice goes along: it is shipped as `NOTICE`
beside the data.
Quotations with an author are left out, so are noun phrases, fragments and coarse words.
Needs the dictionary files (Debian's package `wordnet-base`).

    python -m experiments.demo.sentences --wordnet /usr/share/wordnet --out embedsearch/data/demo
"""

import argparse
import random
import re
from collections.abc import Iterator
from pathlib import Path

PARTS = ("verb", "noun", "adj", "adv")
EXAMPLE = re.compile(r'"([^"]+)"(\s*-)?')
WORD = re.compile(r"[a-z]+(?:'[a-z]+)?")


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


PRONOUNS = _set("i you he she it we they there this that these those nobody everyone who what how")
DETERMINERS = _set("the a an my your his her its our their some many all most no every several")
AUXILIARIES = _set(
    "is are was were am has had have can could will would did does do should must may might be been"
)
NOT_FIRST = _set(
    "of to in on at by for from with into as than or and but nor because which whose when while if"
)
COARSE = re.compile(
    r"\b(?:fuck|shit|piss|cunt|cock|whore|slut|bitch|bastard|nigg|fag|dyke|rape|rapis|breast|penis|vagin|"
    r"testic|semen|orgas|intercourse|sex|genital|prostitut|naked|negro|jew|gyps|retard|cripple|suicid|"
    r"nazi|hitler|masturb|urin|feces|fart|ass\b|arse|lynch|slave|squaw|savage|pussy|drunk)"
)


def glosses(wordnet: Path) -> Iterator[tuple[str, str]]:
    """Yields `(part of speech, gloss)` for every synset, in the order of the files."""
    for part in PARTS:
        with (wordnet / f"data.{part}").open(encoding="utf-8") as lines:
            for line in lines:
                if not line.startswith("  "):
                    yield part, line.split(" | ", 1)[1].strip()


def past_forms(wordnet: Path) -> frozenset[str]:
    """Past forms and participles of verbs: the irregular ones listed, the regular ones derived."""
    irregular = (line.split()[0] for line in (wordnet / "verb.exc").open(encoding="utf-8"))
    forms = {form for form in irregular if not form.endswith(("ing", "s"))}
    for line in (wordnet / "index.verb").open(encoding="utf-8"):
        verb = line.split(" ", 1)[0]
        if verb.isalpha():
            stem = verb[:-1] if verb.endswith("e") else verb
            forms.add(f"{verb[:-1]}ied" if re.search(r"[^aeiou]y$", verb) else f"{stem}ed")
    return frozenset(forms)


def is_sentence(text: str, past: frozenset[str]) -> bool:
    """True for 6 to 30 words that open with a subject and hold a finite verb (a heuristic)."""
    words = WORD.findall(text.lower())
    if not 6 <= len(words) <= 30 or re.search(r"[()\[\]{}<>*_=/]|\.\.|--|^\W", text):
        return False
    if words[0] in NOT_FIRST or words[0].endswith("ing") or COARSE.search(text.lower()):
        return False
    if (
        words[0] in PRONOUNS
        or AUXILIARIES & set(words[1:])
        or any(w.endswith("n't") for w in words)
    ):
        return True
    named = text[0].isupper() and words[0] not in past
    return (words[0] in DETERMINERS or named) and any(word in past for word in words[2:])


def written(text: str) -> str:
    """The sentence with a capital first letter, single spaces and a closing mark."""
    text = " ".join(text.split()).replace("`", "'").rstrip(" ,;:")
    text = text[0].upper() + text[1:]
    return text if text[-1] in ".?!" else f"{text}."


def sentences(wordnet: Path) -> list[str]:
    """All usable examples, each once (compared without case and marks), in the order of files."""
    past = past_forms(wordnet)
    found: dict[str, str] = {}
    for part, gloss in glosses(wordnet):
        # Elsewhere than with verbs a participle is often an adjective, and the text a noun phrase.
        allowed = past if part == "verb" else frozenset()
        for text, quotation in EXAMPLE.findall(gloss):
            if not quotation and text.isascii() and is_sentence(text.strip(), allowed):
                sentence = written(text)
                found.setdefault(" ".join(WORD.findall(sentence.lower())), sentence)
    return list(found.values())


def main() -> None:
    """Writes `sentences.txt` into the folder given."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--wordnet", type=Path, default=Path("/usr/share/wordnet"))
    parser.add_argument("--out", type=Path, default=Path("embedsearch/data/demo"))
    parser.add_argument("--count", type=int, default=8000)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    usable = sentences(args.wordnet)
    chosen = random.Random(args.seed).sample(usable, args.count)
    args.out.mkdir(parents=True, exist_ok=True)
    (args.out / "sentences.txt").write_text("\n".join(chosen) + "\n", encoding="utf-8")
    print(
        f"{len(chosen)} of {len(usable)} usable sentences written to {args.out / 'sentences.txt'}"
    )


if __name__ == "__main__":
    main()
