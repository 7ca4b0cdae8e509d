"""A backbone's tokenizer, and the special tokens it puts around a text."""

from __future__ import annotations

from typing import Any

from embedsearch.errors import UserError


def load_tokenizer(folder: str) -> Any:
    """The fast tokenizer in a backbone's folder; ``UserError`` where it is missing or broken."""
    from transformers import AutoTokenizer

    try:
        tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=False)
    except (OSError, ValueError, KeyError, ImportError) as error:
        raise UserError(f"{folder}: the tokenizer can't be loaded: {error}") from error
    if not tokenizer.is_fast:
        raise UserError(f"{folder}: tokenizer.json is missing, and only that is read")
    return tokenizer


def outer_tokens(tokenizer: Any) -> tuple[str | None, str | None]:
    """The special tokens before and behind every text, cut or not; None where there is none."""
    probe = tokenizer("a", return_special_tokens_mask=True)
    tokens = tokenizer.convert_ids_to_tokens(probe["input_ids"])
    special = probe["special_tokens_mask"]
    return tokens[0] if special[0] else None, tokens[-1] if special[-1] else None
