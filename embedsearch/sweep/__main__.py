"""``python -m embedsearch.sweep`` is ``embedsearch sweep``."""

import sys

from embedsearch.cli import main

main(["sweep", *sys.argv[1:]])
