"""Find, and prove, the best unsupervised sentence-embedding method for a backbone and a corpus."""

__version__ = "0.1.0"
