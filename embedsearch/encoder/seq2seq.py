"""T5's decoder, which writes a text from the states of another one: GUR's language model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from embedsearch.encoder.dropout import draw_fast
from embedsearch.encoder.model import Encoder, quiet_transformers
from embedsearch.errors import UserError

TOGETHER = 25
"""Texts that are answered at once."""


class SequenceDecoder(nn.Module):
    """The decoder and language model head of a T5's folder, on the embeddings of its encoder.

    The words' embeddings are one for encoder, decoder and, where the checkpoint ties them, the
    head. Raises ``UserError`` where the folder holds an encoder alone.
    """

    def __init__(self, encoder: Encoder) -> None:
        super().__init__()
        model = _load(encoder.facts.location)
        words = encoder.transformer.get_input_embeddings()  # type: ignore[operator]
        self.decoder: nn.Module = model.decoder
        self.decoder.set_input_embeddings(words)
        self.head: nn.Linear = model.lm_head
        if model.config.tie_word_embeddings:
            self.head.weight = words.weight
        self.config = model.config
        self.start: int = model.config.decoder_start_token_id
        scaled = getattr(model.config, "scale_decoder_outputs", model.config.tie_word_embeddings)
        self.scale = model.model_dim**-0.5 if scaled else 1.0

    def forward(self, states: Tensor, seen: Tensor, targets: Mapping[str, Tensor]) -> Tensor:
        """How badly each text of ``targets`` is written from ``states`` (batch, tokens, dim), of
        which ``seen`` (batch, tokens) is the attention mask: (batch, 2), the sum of its tokens'
        negative log-likelihoods, and how many they are."""
        ids, mask = targets["input_ids"], targets["attention_mask"]
        out = self.decoder(
            input_ids=F.pad(ids[:, :-1], (1, 0), value=self.start),
            encoder_hidden_states=states,
            encoder_attention_mask=seen,
            use_cache=False,
        )
        real = mask.bool()
        logits = self.head(out.last_hidden_state[real] * self.scale)
        losses = F.cross_entropy(logits.float(), ids[real], reduction="none")
        sums = losses.new_zeros(len(ids)).index_add(0, real.nonzero()[:, 0], losses)
        return torch.stack([sums, mask.sum(1).to(sums.dtype)], dim=1)

    def whole(self, transformer: nn.Module) -> Any:
        """The whole T5, made of the encoder ``transformer`` and this decoder: no weight of its own.

        What it saves is the T5's folder, of which ``T5EncoderModel`` opens the encoder alone.
        """
        from transformers import T5ForConditionalGeneration

        with torch.device("meta"):
            model = T5ForConditionalGeneration(self.config)
        model.shared, model.encoder = transformer.shared, transformer.encoder
        model.decoder, model.lm_head = self.decoder, self.head
        return model

    @torch.no_grad()
    def write(self, encoder: Encoder, texts: Sequence[str], fewest: int, most: int) -> list[str]:
        """What follows each of ``texts``: the likeliest token at each place up to the end token,
        ``fewest`` to ``most`` of them and no two in a row twice, which is where a weak decoder
        would stay. Of the special tokens only sentinels are shown.

        Texts are cut at the backbone's own limit. Both are in evaluation mode afterwards.
        """
        tokenizer, model = encoder.tokenizer, self.whole(encoder.transformer).eval()
        hidden = set(tokenizer.all_special_ids) - set(sentinels(tokenizer))
        written: list[str] = []
        for start in range(0, len(texts), TOGETHER):
            batch = tokenizer(
                list(texts[start : start + TOGETHER]),
                truncation=True,
                max_length=encoder.facts.max_tokens,
                padding=True,
                return_tensors="pt",
            ).to(encoder.device)
            rows = model.generate(
                input_ids=batch["input_ids"],
                attention_mask=batch["attention_mask"],
                min_new_tokens=fewest,
                max_new_tokens=most,
                no_repeat_ngram_size=2,
                do_sample=False,
                num_beams=1,
            )
            written += [
                tokenizer.decode([token for token in row if token not in hidden]).strip()
                for row in rows.tolist()
            ]
        return written


def sentinels(tokenizer: Any) -> list[int]:
    """The ids of ``<extra_id_0>``, ``<extra_id_1>`` … as far as the tokenizer has them."""
    vocabulary: dict[str, int] = tokenizer.get_vocab()
    found: list[int] = []
    while (token := f"<extra_id_{len(found)}>") in vocabulary:
        found.append(vocabulary[token])
    return found


def _load(location: str) -> Any:
    from transformers import T5ForConditionalGeneration

    with quiet_transformers():
        model, loading = T5ForConditionalGeneration.from_pretrained(
            location,
            trust_remote_code=False,
            use_safetensors=True,
            dtype=torch.float32,
            output_loading_info=True,
        )
    if any(name.startswith("decoder.") for name in loading["missing_keys"]):
        raise UserError(
            f"{location} holds a T5's encoder without its decoder, which the language model needs: "
            "give the whole T5, or lm=false"
        )
    draw_fast(model.decoder)
    return model
