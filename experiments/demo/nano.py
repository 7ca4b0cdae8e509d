"""Makes `nano/`: a BERT of 2 layers, 128 wide, with a WordPiece vocabulary of its own.

The vocabulary (8,000 pieces, lower case) is learnt from WordNet's glosses and examples. The weights
are random: BERT's initialisation, but the words' embeddings have a standard deviation of 1 and not
0.02. With 0.02 the positions weigh as much as the words, a mean over tokens says first of all how
long the sentence is, and contrastive training seizes on that. In half precision; loads with
`AutoModel` and `AutoTokenizer` from the folder, with no network.

    python -m experiments.demo.nano --wordnet /usr/share/wordnet --out embedsearch/data/demo/nano
"""

import argparse
from pathlib import Path

import torch
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers
from transformers import BertConfig, BertModel, BertTokenizerFast

from experiments.demo.sentences import glosses

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
POSITIONS = 512


def learnt_pieces(texts: list[str], size: int) -> list[str]:
    """The `size` pieces of a WordPiece vocabulary, special tokens first, the rest sorted."""
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    trainer = trainers.WordPieceTrainer(
        vocab_size=size, special_tokens=SPECIAL, limit_alphabet=100, show_progress=False
    )
    tokenizer.train_from_iterator(sorted(texts), trainer)
    return SPECIAL + sorted(set(tokenizer.get_vocab()) - set(SPECIAL))


def tokenizer_of(pieces: list[str]) -> BertTokenizerFast:
    """A BERT tokenizer (lower case, [CLS] … [SEP]) over the pieces, their place being their id."""
    vocabulary = {piece: place for place, piece in enumerate(pieces)}
    return BertTokenizerFast(vocab=vocabulary, do_lower_case=True, model_max_length=POSITIONS)


def random_model(vocabulary: int, seed: int) -> BertModel:
    """BERT, 2 layers, 128 wide, 2 heads, dropout 0.1, with random weights."""
    config = BertConfig(
        vocab_size=vocabulary,
        hidden_size=128,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=512,
        max_position_embeddings=POSITIONS,
        pad_token_id=0,
    )
    torch.manual_seed(seed)
    model = BertModel(config)
    with torch.no_grad():
        model.get_input_embeddings().weight.div_(config.initializer_range)
    return model


def main() -> None:
    """Writes tokenizer, configuration and half-precision weights into the folder given."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--wordnet", type=Path, default=Path("/usr/share/wordnet"))
    parser.add_argument("--out", type=Path, default=Path("embedsearch/data/demo/nano"))
    parser.add_argument("--size", type=int, default=8000)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    tokenizer = tokenizer_of(
        learnt_pieces([gloss for _, gloss in glosses(args.wordnet)], args.size)
    )
    tokenizer.save_pretrained(args.out)
    random_model(len(tokenizer), args.seed).half().save_pretrained(args.out)
    print(f"nano with {len(tokenizer)} pieces written to {args.out}")


if __name__ == "__main__":
    main()
