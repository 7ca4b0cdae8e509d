"""A WordNet of four synsets, as its files are written."""

from pathlib import Path

_LICENCE = "  1 This software and database is being provided to you, the LICENSEE\n"
_FILES = {
    "data.noun": "00001740 17 n 03 river 0 stream 0 running_water 0 001 @ 00001930 n 0000 | flows\n"
    "00001930 17 n 02 stream 1 flow 0 000 | the act of flowing  \n"
    "00002000 27 n 02 indium 0 in 1 000 | a metal\n",
    "data.verb": "00001740 30 v 01 flow 2 000 01 + 02 00 | move along\n",
    "data.adj": "00001740 00 s 03 quiet(p) 0 placid 0 Calm 0 000 | free from disturbance\n",
    "data.adv": "",
}


def write_wordnet(folder: Path) -> Path:
    """``folder``, filled."""
    folder.mkdir()
    for name, text in _FILES.items():
        (folder / name).write_text(_LICENCE + text)
    return folder
