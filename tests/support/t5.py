"""Folders of T5's and Pegasus's models with random weights, made by transformers itself."""

import json
from collections.abc import Sequence
from pathlib import Path

import torch
from support.families import train_pieces
from transformers import (
    ByT5Tokenizer,
    MT5Config,
    MT5ForConditionalGeneration,
    PegasusConfig,
    PegasusForConditionalGeneration,
    PegasusTokenizer,
    PreTrainedModel,
    PreTrainedTokenizerBase,
    T5Config,
    T5ForConditionalGeneration,
    T5Tokenizer,
)

from transformer.checkpoint import save_checkpoint
from transformer.exchange.importing import import_checkpoint

FAMILIES = ("t5", "flan-t5", "mt5", "byt5", "t5-shallow", "pegasus")
PREFIXES = {
    "summarization": "summarize:",
    "translation_en_to_de": "translate English to German:",
    "translation_en_to_fr": "translate English to French:",
}
_UNUSED = 12  # rows of the embedding that no piece has, as in T5
_SENTINELS, _OFFSET = 10, 23
_SHAPE = {
    "d_model": 24,
    "d_kv": 7,
    "d_ff": 36,
    "num_layers": 2,
    "num_decoder_layers": 3,
    "num_heads": 5,
    "relative_attention_num_buckets": 8,
    "relative_attention_max_distance": 11,
    "n_positions": 40,
    "decoder_start_token_id": 0,
}
_GATED = {"feed_forward_proj": "gated-gelu", "tie_word_embeddings": False}


def write_t5(
    folder: Path, family: str, seed: int = 1, more: Sequence[str] = (), **shape: int
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """Write a folder of a family with random norms and biases, no two sizes alike.

    more: texts from which SentencePiece's pieces are learned, too; shape: settings of T5Config. FLAN-T5 and ByT5 have
    an output matrix of their own.
    """
    tokenizer = _write_tokenizer(folder, family, more)
    size = 384 if family == "byt5" else len(tokenizer) + _UNUSED
    model = _model(family, size, seed, shape)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "relative_attention_bias" in name:
                parameter.normal_()
            elif "embed_positions" not in name:
                parameter.add_(0.3 * torch.randn_like(parameter))
        model.get_output_embeddings().weight[1] *= 3  # a row so long wins now and then, so that translations end
        if family == "pegasus":
            model.final_logits_bias.normal_()
    model.generation_config.forced_eos_token_id = None
    model.generation_config.bad_words_ids = [[0]]
    model.save_pretrained(folder)
    if family == "byt5":  # as before transformers 5, which FLAN-T5's folder is of
        _describe(folder, tie_word_embeddings=False, scale_decoder_outputs=None)
    if family in ("t5", "flan-t5", "t5-shallow"):
        _describe(folder, task_specific_params={name: {"prefix": f"{prefix} "} for name, prefix in PREFIXES.items()})
    return model, tokenizer


def _describe(folder: Path, **more: object) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | more))


def _model(family: str, size: int, seed: int, other: dict[str, int]) -> PreTrainedModel:
    torch.manual_seed(seed)
    eager = {"attn_implementation": "eager"}  # the others show no weights
    if family == "pegasus":
        shape = {"d_model": 24, "encoder_layers": 3, "decoder_layers": 2, "max_position_embeddings": 40}
        heads = {f"{stack}_attention_heads": 4 for stack in ("encoder", "decoder")}
        units = {f"{stack}_ffn_dim": 36 for stack in ("encoder", "decoder")}
        config = PegasusConfig(
            vocab_size=size, activation_function="relu", scale_embedding=True, **shape, **heads, **units
        )
        return PegasusForConditionalGeneration._from_config(config, **eager).eval()
    layers = {"t5-shallow": {"num_decoder_layers": 1}, "byt5": {"num_layers": 3, "num_decoder_layers": 1}}
    shape = {"vocab_size": size, **_SHAPE, **layers.get(family, {}), **other}
    if family == "mt5":
        return MT5ForConditionalGeneration._from_config(MT5Config(**shape), **eager).eval()
    gated = family in ("flan-t5", "byt5")
    model = T5ForConditionalGeneration._from_config(T5Config(**shape, **(_GATED if gated else {})), **eager).eval()
    if gated:  # which transformers would tie to the embeddings
        model.lm_head.weight = torch.nn.Parameter(torch.randn(size, shape["d_model"]))
    return model


def _write_tokenizer(folder: Path, family: str, more: Sequence[str]) -> PreTrainedTokenizerBase:
    if family == "byt5":
        tokenizer = ByT5Tokenizer()
        tokenizer.save_pretrained(folder)
        return tokenizer
    special = {"pad_id": 0, "eos_id": 1, "unk_id": 2, "bos_id": -1}
    (folder / "spiece.model").write_bytes(train_pieces("unigram", 1500 if more else 150, more, **special))
    if family == "pegasus":
        tokenizer = PegasusTokenizer.from_pretrained(folder, offset=_OFFSET)
    else:
        tokenizer = T5Tokenizer.from_pretrained(folder, extra_ids=0 if family == "mt5" else _SENTINELS)
    options = {"offset": _OFFSET} if family == "pegasus" else {"extra_ids": 0 if family == "mt5" else _SENTINELS}
    (folder / "tokenizer_config.json").write_text(json.dumps(options))
    return tokenizer


NAME = "summaries"
TEXT = " ".join(["red dog sees the small house and"] * 60)[:1395]
HALF = TEXT[:600]  # its weights, too, are more than are sent at once
_SUMMARIZER_SHAPE = {"d_model": 32, "d_kv": 4, "d_ff": 32, "num_heads": 8}


def write_summarizer(made: Path, folder: Path, layers: int = 6) -> None:
    """Write a T5 with random weights and 8 heads per layer; `made` is an empty folder for its original files."""
    write_t5(made, "t5", n_positions=512, num_layers=layers, num_decoder_layers=layers, **_SUMMARIZER_SHAPE)
    save_checkpoint(folder / NAME, import_checkpoint(made), torch.float32)
