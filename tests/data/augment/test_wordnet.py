"""WordNet: its files as its manual prints them, and what becomes of a sentence."""

from pathlib import Path
from random import Random

import pytest

from embedsearch.data.augment import wordnet
from embedsearch.data.augment.wordnet import read_synonyms, substitute
from embedsearch.errors import UserError
from tests.data.augment.dictionary import write_wordnet

SYNONYMS = {"river": ("stream", "water"), "quiet": ("calm",)}


def test_synonyms_are_the_single_words_of_all_synsets(tmp_path: Path) -> None:
    found = read_synonyms(write_wordnet(tmp_path / "dict"))
    assert found == {
        "river": ("stream",),
        "stream": ("flow", "river"),
        "flow": ("stream",),
        "quiet": ("Calm", "placid"),
        "calm": ("placid", "quiet"),
        "placid": ("Calm", "quiet"),
    }


def test_a_line_that_is_none_of_its_own_is_named(tmp_path: Path) -> None:
    folder = write_wordnet(tmp_path / "dict")
    with (folder / "data.verb").open("a") as file:
        file.write("00000000 30 v 02 lonely\n")
    with pytest.raises(UserError, match=r"data\.verb, line 3: no synset"):
        read_synonyms(folder)


def test_missing_data_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write_wordnet(tmp_path / "dict")
    assert wordnet.find(str(folder)) == folder
    (folder / "data.adv").unlink()
    with pytest.raises(UserError, match=r"data\.adv: install Debian's wordnet-base, or give"):
        wordnet.find(str(folder))
    monkeypatch.setattr(wordnet, "DEBIAN", tmp_path / "nowhere")
    with pytest.raises(UserError, match=r"nowhere/data\.noun"):
        wordnet.find(None)


def test_its_fingerprint_is_its_content(tmp_path: Path) -> None:
    one, two = (write_wordnet(tmp_path / name) for name in ("one", "two"))
    assert wordnet.fingerprint(one) == wordnet.fingerprint(two)
    (two / "data.noun").write_text("")
    assert wordnet.fingerprint(one) != wordnet.fingerprint(two)


def test_the_rates_words_are_replaced_where_there_is_a_synonym() -> None:
    sentence = "River river " + "x " * 18 + "quiet."
    for seed in range(30):
        changed = substitute(sentence, 0.1, SYNONYMS, Random(seed))
        pairs = zip(sentence.split(), changed.split(), strict=True)
        different = [pair for pair in pairs if pair[0] != pair[1]]
        assert len(different) == 2
        assert set(different) <= {("River", "Stream"), ("River", "Water"), ("river", "stream"),
                                  ("river", "water"), ("quiet.", "calm.")}  # fmt: skip


def test_fewer_synonyms_than_the_rate_wants() -> None:
    assert substitute("The quiet stone", 0.9, SYNONYMS, Random(0)) == "The calm stone"
    assert substitute("Nothing 我们 🙂", 0.9, SYNONYMS, Random(0)) == "Nothing 我们 🙂"
    assert substitute("Quiet!", 0.1, SYNONYMS, Random(0)) == "Calm!"


@pytest.mark.skipif(
    not (wordnet.DEBIAN / "data.noun").is_file(), reason="wordnet-base is not on this machine"
)
def test_the_real_one() -> None:
    found = read_synonyms(wordnet.find(None))
    assert len(found) > 40_000
    assert "automobile" in found["car"]
    assert "galore(ip)" not in found and "in" not in found
