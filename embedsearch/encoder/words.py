"""Words' own vectors in the place of a transformer: averaged, they are the oldest baseline."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

from tokenizers import Tokenizer
from torch import Tensor, nn

from embedsearch.encoder.backbone import WORD_TABLE, BackboneFacts
from embedsearch.encoder.pooling import LAYERS
from embedsearch.encoder.word_files import read_words
from embedsearch.errors import UserError

STATIC = "static"
"""The pooling that takes a transformer's input embeddings as a word table, and their mean."""


class WordTable(nn.Module):
    """Gives every token the vector of its row, whatever stands beside it.

    Its weight is named as that of sentence-transformers' ``StaticEmbedding``.
    """

    def __init__(self, vectors: Tensor) -> None:
        super().__init__()
        self.embedding = nn.Embedding.from_pretrained(vectors, freeze=False)  # type: ignore[no-untyped-call]

    def forward(self, input_ids: Tensor, **ignored: Any) -> SimpleNamespace:
        """The ``last_hidden_state`` (batch, tokens, dim) of ``input_ids`` (batch, tokens)."""
        return SimpleNamespace(last_hidden_state=self.embedding(input_ids))


def load_table(facts: BackboneFacts) -> tuple[WordTable, Any]:
    """The word table at ``facts.location``, and the tokenizer of its words."""
    vectors, tokenizer = read_words(Path(facts.location))
    return WordTable(vectors), _without_special(tokenizer)


def words_of(
    transformer: nn.Module, tokenizer: Any, facts: BackboneFacts
) -> tuple[WordTable, Any, BackboneFacts]:
    """A transformer's words alone: its embedding matrix as it is, without positions, token types
    or a norm, a tokenizer that puts no special token round a text, and the facts of both."""
    vectors = transformer.get_input_embeddings().weight.detach()  # type: ignore[operator]
    own = Tokenizer.from_str(tokenizer.backend_tokenizer.to_str())
    table = BackboneFacts.of_words(facts.location, vectors.shape[1])
    return WordTable(vectors), _without_special(own), table


def check_pooling(facts: BackboneFacts, pooling: str) -> None:
    """Raise ``UserError`` for an unknown pooling, or a word table that is not to be averaged."""
    if pooling not in (*LAYERS, STATIC):
        known = ", ".join((*LAYERS, STATIC))
        raise UserError(f"there is no pooling '{pooling}': take one of {known}")
    if facts.architecture == WORD_TABLE and pooling != "mean":
        raise UserError(
            f"{facts.location} is a {WORD_TABLE}, whose words can only be averaged; "
            "take pooling mean"
        )


def _without_special(tokenizer: Tokenizer) -> Any:
    from transformers import PreTrainedTokenizerFast

    tokenizer.post_processor = None
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer)
