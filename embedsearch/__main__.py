"""``python -m embedsearch`` is ``embedsearch``."""

from embedsearch.cli import main

main()
