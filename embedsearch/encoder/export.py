"""A folder that sentence-transformers and transformers open, written without either's trainer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from embedsearch.encoder.model import Encoder, quiet_transformers
from embedsearch.encoder.pooling import LAYERS, layer_weights
from embedsearch.encoder.projection import Projection
from embedsearch.encoder.saved import ACTIVATIONS
from embedsearch.encoder.seq2seq import SequenceDecoder
from embedsearch.encoder.words import WordTable

_MODULES = "sentence_transformers.models."


def export(encoder: Encoder, folder: Path, decoder: SequenceDecoder | None = None) -> None:
    """Write ``encoder`` to ``folder`` in the format of ``SentenceTransformer.save``.

    ``SentenceTransformer(folder)`` gives the same embeddings, ``AutoModel.from_pretrained(folder)``
    the backbone (of T5, ``T5EncoderModel`` the encoder), ``Encoder.load(folder)`` the encoder. A
    word table becomes a ``StaticEmbedding`` module, a projection a ``Dense``. Safetensors only; the
    heads of training are not part of an encoder, but a T5's ``decoder`` that was trained with it
    may stand beside it: ``T5ForConditionalGeneration`` then opens the whole.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if isinstance(encoder.transformer, WordTable):
        modules = _words(encoder.transformer, encoder.tokenizer, folder)
    else:
        modules = _transformer(encoder, folder, decoder)
    if encoder.projection is not None:
        _dense(encoder.projection, folder / f"{len(modules)}_Dense")
        modules.append(_module(len(modules), "Dense"))
    _json(folder / "modules.json", modules)
    _json(folder / "config_sentence_transformers.json", {"similarity_fn_name": "cosine"})


def is_whole(folder: Path) -> bool:
    """Whether all weights that ``export`` has written to ``folder`` are as long as they say."""
    try:
        for file in folder.rglob("*.safetensors"):
            safe_open(file, "numpy")
    except (SafetensorError, OSError):
        return False
    return True


def _words(table: WordTable, tokenizer: Any, folder: Path) -> list[dict[str, Any]]:
    weights = {name: value.detach().cpu() for name, value in table.state_dict().items()}
    save_file(weights, folder / "model.safetensors")
    tokenizer.backend_tokenizer.no_truncation()
    tokenizer.backend_tokenizer.save(str(folder / "tokenizer.json"))
    return [_first_module("StaticEmbedding")]


def _transformer(
    encoder: Encoder, folder: Path, decoder: SequenceDecoder | None
) -> list[dict[str, Any]]:
    """Backbone and pooling."""
    layers = LAYERS[encoder.pooling]
    model: Any = decoder.whole(encoder.transformer) if decoder else encoder.transformer
    with quiet_transformers():
        model.save_pretrained(folder)
    encoder.tokenizer.save_pretrained(folder)
    if len(layers) > 1:
        _set_in_config(folder, output_hidden_states=True)
    modules = [_first_module("Transformer")]
    if len(layers) > 1:
        _layer_weights(encoder, folder / "1_WeightedLayerPooling")
        modules.append(_module(1, "WeightedLayerPooling"))
    _json(folder / f"{len(modules)}_Pooling" / "config.json", _pooling(encoder))
    modules.append(_module(len(modules), "Pooling"))
    limit = {"max_seq_length": encoder.facts.max_tokens, "do_lower_case": False}
    _json(folder / "sentence_bert_config.json", limit)
    return modules


def _first_module(kind: str) -> dict[str, Any]:
    return {"idx": 0, "name": "0", "path": "", "type": f"{_MODULES}{kind}"}


def _module(index: int, kind: str) -> dict[str, Any]:
    path = f"{index}_{kind}"
    return {"idx": index, "name": str(index), "path": path, "type": f"{_MODULES}{kind}"}


def _pooling(encoder: Encoder) -> dict[str, Any]:
    return {
        "word_embedding_dimension": encoder.facts.dim,
        "pooling_mode_cls_token": encoder.pooling == "cls",
        "pooling_mode_lasttoken": encoder.pooling == "eos",
        "pooling_mode_mean_tokens": encoder.pooling not in ("cls", "eos"),
        "pooling_mode_max_tokens": False,
        "pooling_mode_mean_sqrt_len_tokens": False,
    }


def _layer_weights(encoder: Encoder, folder: Path) -> None:
    """All hidden states, embeddings' first, with weight 1 for those that are averaged."""
    weights = layer_weights(encoder.pooling, encoder.facts.layers + 1)
    config = {
        "word_embedding_dimension": encoder.facts.dim,
        "layer_start": 0,
        "num_hidden_layers": encoder.facts.layers,
    }
    _json(folder / "config.json", config)
    save_file({"layer_weights": weights}, folder / "model.safetensors")


def _dense(projection: Projection, folder: Path) -> None:
    config = {
        "in_features": projection.linear.in_features,
        "out_features": projection.width,
        "bias": True,
        "activation_function": ACTIVATIONS[projection.activation],
    }
    _json(folder / "config.json", config)
    weights = {name: value.detach().cpu() for name, value in projection.state_dict().items()}
    save_file(weights, folder / "model.safetensors")


def _set_in_config(folder: Path, **values: Any) -> None:
    path = folder / "config.json"
    _json(path, {**json.loads(path.read_text()), **values})


def _json(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=2) + "\n", encoding="utf-8")
