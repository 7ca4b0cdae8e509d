"""Evaluation: what an encoder's embeddings are worth."""
