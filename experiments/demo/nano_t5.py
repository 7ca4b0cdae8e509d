"""Makes `nano-t5/`: a T5 of 2 + 2 layers, 128 wide, with a Unigram vocabulary of its own.

The pieces are learnt from WordNet's glosses and examples, lower case. What they can't spell is cut
into bytes, so that no text is lost, Han included; 100 sentinels `<extra_id_0>` … stand at the end,
the first of them last, as in T5.

The weights are random. The words' embeddings have T5's own standard deviation of 1. Queries, keys
and feed-forward matrices have BERT's 0.02, so that attention starts as a mean over the text and no
layer drowns the words; values and outputs have 0.125, so that this mean weighs enough in the state
of `</s>`. With 0.02 there too that state is nearly the same for every text, and a contrast through
it learns next to nothing; with T5's own weights throughout it learns, and the dev score falls.

In half precision; loads with `T5ForConditionalGeneration`, `T5EncoderModel` and `AutoTokenizer`
from the folder, with no network.

    python -m experiments.demo.nano_t5 --out embedsearch/data/demo/nano-t5
"""

import argparse
import json
import os
from pathlib import Path

import torch
from tokenizers import (
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)
from transformers import PreTrainedTokenizerFast, T5Config, T5ForConditionalGeneration

from experiments.demo.sentences import glosses

SPECIAL = ["<pad>", "</s>", "<unk>"]
BYTES = [f"<0x{value:02X}>" for value in range(256)]
SENTINELS = [f"<extra_id_{number}>" for number in range(100)]
POSITIONS = 512
BYTE_SCORE = -20.0
"""Below every learnt piece's."""
NARROW, WIDE = 0.02, 0.125
"""Standard deviations of the layers' matrices; WIDE for attention's values and outputs."""


def _spelled(model: models.Model) -> Tokenizer:
    """A tokenizer that splits at spaces (marked `▁`) and marks, in lower case."""
    tokenizer = Tokenizer(model)
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFC(), normalizers.Lowercase()])
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.WhitespaceSplit(),
            pre_tokenizers.Metaspace(prepend_scheme="always"),
            pre_tokenizers.Punctuation("isolated"),
        ]
    )
    tokenizer.decoder = decoders.Sequence([decoders.ByteFallback(), decoders.Metaspace()])
    return tokenizer


def learnt_pieces(texts: list[str], size: int) -> list[tuple[str, float]]:
    """`size` pieces of a Unigram vocabulary and their log probabilities, the likeliest first."""
    tokenizer = _spelled(models.Unigram())
    trainer = trainers.UnigramTrainer(
        vocab_size=size + 1, special_tokens=["<unk>"], unk_token="<unk>", show_progress=False
    )
    tokenizer.train_from_iterator(sorted(texts), trainer)
    vocabulary: list[tuple[str, float]] = json.loads(tokenizer.to_str())["model"]["vocab"]
    pieces = [(piece, round(score, 4)) for piece, score in vocabulary if piece != "<unk>"]
    return sorted(pieces, key=lambda item: (-item[1], item[0]))[:size]


def tokenizer_of(pieces: list[tuple[str, float]]) -> PreTrainedTokenizerFast:
    """Pieces, bytes for what they can't spell, and sentinels; every text ends with `</s>`."""
    special = [(piece, 0.0) for piece in SPECIAL]
    spare = [(byte, BYTE_SCORE) for byte in BYTES]
    vocabulary = [*special, *spare, *pieces, *((name, 0.0) for name in reversed(SENTINELS))]
    tokenizer = _spelled(models.Unigram(vocabulary, SPECIAL.index("<unk>"), byte_fallback=True))
    end = ("</s>", SPECIAL.index("</s>"))
    tokenizer.post_processor = processors.TemplateProcessing(
        single="$A </s>", pair="$A </s> $B </s>", special_tokens=[end]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="<pad>",
        eos_token="</s>",
        unk_token="<unk>",
        extra_special_tokens=SENTINELS,
        model_max_length=POSITIONS,
    )


def random_model(vocabulary: int, seed: int) -> T5ForConditionalGeneration:
    """T5, 2 + 2 layers, 128 wide, 2 heads, dropout 0.1, with random weights."""
    config = T5Config(
        vocab_size=vocabulary,
        d_model=128,
        d_kv=64,
        d_ff=512,
        num_layers=2,
        num_heads=2,
        n_positions=POSITIONS,
        decoder_start_token_id=SPECIAL.index("<pad>"),
    )
    torch.manual_seed(seed)
    model = T5ForConditionalGeneration(config)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if "block" in name and weight.ndim == 2:
                weight.normal_(std=WIDE if name.endswith((".v.weight", ".o.weight")) else NARROW)
    return model


def main() -> None:
    """Writes tokenizer, configuration and half-precision weights into the folder given."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--wordnet", type=Path, default=Path("/usr/share/wordnet"))
    parser.add_argument("--out", type=Path, default=Path("embedsearch/data/demo/nano-t5"))
    parser.add_argument("--size", type=int, default=7641, help="learnt pieces; with bytes 8,000")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    os.environ["RAYON_NUM_THREADS"] = "1"  # sums in one order, so the same pieces every time
    pieces = learnt_pieces([gloss for _, gloss in glosses(args.wordnet)], args.size)
    tokenizer = tokenizer_of(pieces)
    tokenizer.save_pretrained(args.out)
    random_model(len(tokenizer), args.seed).half().save_pretrained(args.out)
    print(f"nano-t5 with {len(tokenizer)} pieces written to {args.out}")


if __name__ == "__main__":
    main()
