"""Makes `dev.tsv` and `test.tsv`: 500 lines each of `score TAB sentence TAB sentence`.

`scenes.txt`, written by hand, tells each scene in seven ways; a pair is two tellings of one scene,
or one telling each of two scenes. The score says how much they mean the same:

    5  the same: `A` lightly rewritten (`=`), or in other words and another structure (`B`)
    4  the same event, with a detail that matters little added (`4`)
    3  much the same, but one thing that matters differs: who, what, where, how it ended (`3`)
    2  the same topic, another event or another statement about it (`2`)
    1  another matter in the sentence frame of `A`, its key words swapped (`1`): at most a person,
       a thing, a place, a time or a number in common
    0  scenes of different topics with no content word in common: three in four are those that
       share most function words, the others any

Three in ten sentences are told in a manner that adds no fact ("The local paper writes: ..."), and
every second one lacks its closing mark; both are dealt out by lot, evenly in each score, and the
score does not count them. Development and test share no scene and so no sentence.

The pairs are frozen: they were made before anything was trained on the demo's sentences, and the
mixture of tellings was chosen by looking at untrained and public encoders only.

    python -m experiments.demo.pairs --out embedsearch/data/demo
"""

import argparse
import itertools
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")

SCENES = Path(__file__).with_name("scenes.txt")
MARKS = ("A", "=", "B", "4", "3", "2", "1")
SCENES_A_HALF = 86
# The tellings that may be paired for a score; a pair named twice is drawn twice as often.
RELATIONS: dict[int, tuple[str, ...]] = {
    5: ("A=",) * 6 + ("=B", "AB"),
    4: ("A4",) + ("=4",) * 7 + ("B4",),
    3: ("A3",) + ("=3",) * 5 + ("B3",),
    2: ("A2", "=2", "42"),
    1: ("B1", "=1"),
}
ALIKE_IN_FRAME = 0.75
# Which of the two sentences of a pair are told in a manner, and which lack their closing mark.
IN_A_MANNER = ((False, False),) * 5 + ((True, False), (False, True)) * 2 + ((True, True),)
WITHOUT_MARK = ((False, False), (True, False), (False, True), (True, True))
FUNCTION_WORDS = frozenset(
    re.findall(
        r"[a-z]+",
        """a an the this that these those some any no not all both each every one two three and or
        but because although if than as of to in on at by for from with without into onto over
        under up down out off about after before during since until through is are was were be
        been being am has have had having do does did can could will would shall should may might
        must i you he she it we they me him her us them my your his its our their who whom whose
        what which when where why how there here more most very so only again still s""",
    )
)
OPENINGS = (
    "The local paper writes: ",
    "As far as I know, ",
    "As you can see here, ",
    "Believe it or not, ",
    "By the way, ",
    "From what we have been told, ",
    "If you ask me, ",
    "In this picture, ",
    "It is like this: ",
    "Just so you know, ",
    "The agency reports: ",
    "To make it short, ",
)
ENDINGS = (
    ", a spokesman said",
    ", and that is a fact",
    ", as I have said before",
    ", as was to be expected",
    ", if I am not mistaken",
    ", officials said on Tuesday",
    ", or so they say",
    ", the radio reported",
)
QUESTION_OPENINGS = (
    "A question for all of you: ",
    "Does anybody here know this: ",
    "Hello, I am new here: ",
    "This is what I ask myself: ",
)
PROPER = frozenset(("I", "Spanish", "Brazil", "Scotland", "Saturday"))


@dataclass(frozen=True)
class Scene:
    """One scene: its topic and its tellings by mark."""

    topic: str
    tellings: dict[str, str]


@dataclass(frozen=True)
class Pair:
    """Two sentences and how much they mean the same, 0 to 5."""

    score: int
    first: str
    second: str


def scenes(path: Path = SCENES) -> list[Scene]:
    """The scenes of the file, in its order; a ValueError names a block that lacks a telling."""
    found = []
    for block in path.read_text(encoding="utf-8").strip().split("\n\n"):
        lines = {line[0]: line[2:] for line in block.split("\n")}
        if tuple(lines) != ("@", *MARKS):
            raise ValueError(f"{path}: a scene needs the lines @ {' '.join(MARKS)}, not:\n{block}")
        found.append(Scene(lines.pop("@"), lines))
    return found


def content(sentence: str) -> frozenset[str]:
    """The beginnings of the words that are not function words: `paint` and `painting` are one."""
    return frozenset(word[:5] for word in words(sentence) - FUNCTION_WORDS)


def words(sentence: str) -> frozenset[str]:
    """The words of a sentence in lower case."""
    return frozenset(re.findall(r"[a-z0-9]+", sentence.lower()))


def dealt(options: Sequence[T], count: int, rng: random.Random) -> list[T]:
    """`count` options in random order, each as often as any other (once more or less)."""
    return rng.sample((list(options) * count)[:count], count)


def related(pool: list[Scene], rng: random.Random) -> list[Pair]:
    """One pair for each scene and each score from 5 to 1."""
    found = []
    for score, relations in RELATIONS.items():
        for scene, marks in zip(pool, dealt(relations, len(pool), rng), strict=True):
            found.append(Pair(score, scene.tellings[marks[0]], scene.tellings[marks[1]]))
    return found


def unrelated(pool: list[Scene], count: int, rng: random.Random) -> list[Pair]:
    """Pairs across topics without a common content word, most as alike in frame as can be."""
    told = [(scene.topic, text) for scene in pool for text in scene.tellings.values()]
    candidates = []
    for _ in range(40 * len(told)):
        (topic, first), (other, second) = rng.sample(told, 2)
        if topic != other and not content(first) & content(second):
            common = len(words(first) & words(second)) / len(words(first) | words(second))
            candidates.append((common, Pair(0, first, second)))
    alike = sorted(candidates, key=lambda candidate: -candidate[0])
    chosen = distinct([pair for _, pair in alike], round(ALIKE_IN_FRAME * count))
    rest = [pair for _, pair in candidates if pair not in chosen]
    return chosen + distinct(rest, count - len(chosen))


def distinct(pairs: list[Pair], count: int) -> list[Pair]:
    """The first `count` pairs in which no sentence occurs twice."""
    used: set[str] = set()
    chosen: list[Pair] = []
    for pair in pairs:
        if len(chosen) < count and used.isdisjoint((pair.first, pair.second)):
            used.update((pair.first, pair.second))
            chosen.append(pair)
    return chosen


def in_a_manner(sentence: str, rng: random.Random) -> str:
    """The sentence with an opening or an ending that adds no fact."""
    question = sentence.endswith("?")
    if not question and rng.random() < 0.4:
        return sentence[:-1] + rng.choice(ENDINGS) + sentence[-1]
    proper = re.split(r"[ ']", sentence)[0] in PROPER
    body = sentence if proper else sentence[0].lower() + sentence[1:]
    return rng.choice(QUESTION_OPENINGS if question else OPENINGS) + body


def told(sentence: str, manner: bool, unmarked: bool, rng: random.Random) -> str:
    """The sentence as it stands in a pair: plain or in a manner, its closing mark left or cut."""
    sentence = in_a_manner(sentence, rng) if manner else sentence
    return sentence[:-1] if unmarked else sentence


def pairs(pool: list[Scene], count: int, rng: random.Random) -> list[Pair]:
    """`count` pairs of the scenes in random order: five a scene, the others unrelated."""
    plain = related(pool, rng)
    plain += unrelated(pool, count - len(plain), rng)
    made = []
    for _, group in itertools.groupby(plain, key=lambda pair: pair.score):
        same = list(group)
        manners, cuts = (dealt(of, len(same), rng) for of in (IN_A_MANNER, WITHOUT_MARK))
        for pair, manner, cut in zip(same, manners, cuts, strict=True):
            first = told(pair.first, manner[0], cut[0], rng)
            made.append(Pair(pair.score, first, told(pair.second, manner[1], cut[1], rng)))
    rng.shuffle(made)
    return made


def write(path: Path, made: list[Pair]) -> None:
    """Writes one pair a line."""
    lines = (f"{pair.score}\t{pair.first}\t{pair.second}\n" for pair in made)
    path.write_text("".join(lines), encoding="utf-8", newline="\n")


def main() -> None:
    """Writes `dev.tsv` and `test.tsv` into the folder given."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=Path("embedsearch/data/demo"))
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    rng = random.Random(args.seed)
    pool = scenes()
    rng.shuffle(pool)
    pool.sort(key=lambda scene: scene.topic)  # every second one: each half has its share of a topic
    args.out.mkdir(parents=True, exist_ok=True)
    write(args.out / "dev.tsv", pairs(pool[0 : SCENES_A_HALF * 2 : 2], args.count, rng))
    write(args.out / "test.tsv", pairs(pool[1 : SCENES_A_HALF * 2 : 2], args.count, rng))


if __name__ == "__main__":
    main()
