"""Sentences of running text, Latin and Han, and what only looks like their end."""

from __future__ import annotations

import pytest

from embedsearch.data.splitting import LONGEST, split_sentences


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("It rained. We left!  Why? Nobody knows…", ["It rained.", "We left!", "Why?", None]),
        ('He said "Go." Then he left.', ['He said "Go."', "Then he left."]),
        ("He said “Go.” “Now?” she asked.", ["He said “Go.”", "“Now?” she asked."]),
        ("Dr. H. G. Wells met Mr. Smith in c. 1900. They spoke.", [None, "They spoke."]),
        ("The U.S. Army, e.g. Company B, has 3.5 Mt. Born in 1900.", [None]),
        ("It has about 2.5 million. 42 of them, approx. 3 a year.", [None, None]),
        (
            "a first line\nA second\r\n\r\n  third\u2028fourth ",
            ["a first line", None, "third", None],
        ),
        ("今天下雨。我们走了！为什么？没人知道", ["今天下雨。", "我们走了！", "为什么？", None]),
        ("他说：“走吧。”然后他走了。", ["他说：“走吧。”", "然后他走了。"]),
        ("我爱 Python 3.11。It is fast. 是的！", ["我爱 Python 3.11。", "It is fast.", "是的！"]),
        (" \n\t ", []),
    ],
)
def test_ends(text: str, sentences: list[str | None]) -> None:
    """None stands for the rest up to the next, which is told by what comes before and after."""
    found = split_sentences(text)
    assert len(found) == len(sentences)
    assert [a if b is None else b for a, b in zip(found, sentences, strict=True)] == found
    assert "".join("".join(found).split()) == "".join(text.split())


def test_what_never_ends_is_cut() -> None:
    words = split_sentences("word " * 1_000)
    assert all(len(piece) <= LONGEST and piece.startswith("word") for piece in words)
    assert " ".join(words) == " ".join(["word"] * 1_000)
    assert list(map(len, split_sentences("字" * 2_500))) == [LONGEST, LONGEST, 2_500 - 2 * LONGEST]
