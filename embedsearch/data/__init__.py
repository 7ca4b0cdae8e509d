"""Texts: corpora, their tokens, batches of them, and scored pairs."""
