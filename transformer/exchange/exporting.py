"""A checkpoint of this program as a Marian model that Hugging Face's transformers reads, and whatever reads those."""

from pathlib import Path

import torch
from safetensors.torch import save

from ..checkpoint import Checkpoint
from ..config import Activation, FeedForwardType, ModelConfig, Norm, Positions
from ..data.tokenizer import Tokenizer
from ..errors import CheckpointError
from ..files import new_folder, object_bytes, write_atomically
from ..model.fused_step import is_covered
from .imported_tokenizer import MARIAN_FILES, SOURCE, TARGET, VOCABULARY
from .layout import ACTIVATIONS, CONFIG, OUTPUT_BIAS, WEIGHTS, by_halves, parts, reordered


def export_marian(checkpoint: Checkpoint, out: Path) -> None:
    """Write a folder for `MarianMTModel.from_pretrained` and `MarianTokenizer.from_pretrained`.

    Raises CheckpointError for a model that Marian's cannot be, and where `out` is there already.
    """
    files = _files(checkpoint)
    with new_folder(Path(out)) as made:
        for name, content in files.items():
            write_atomically(made / name, content)


def _files(checkpoint: Checkpoint) -> dict[str, bytes]:
    config, tokenizer = checkpoint.model.config, checkpoint.tokenizer
    for is_marians, why in (
        (config.norm == Norm.POST, "it is pre-norm, and Marian's models are post-norm"),
        (_has_papers_positions(config), "its positions are not the paper's sinusoids"),
        (not config.embedding_norm, "it has a LayerNorm after the embedding"),
        (not config.target_vocab_size, "its languages have a vocabulary each"),
        (config.ties_output, "its embeddings are not shared"),
        (is_covered(config), "it has RMSNorm, heads of a size of their own, unscaled scores or no biases"),
        (config.feed_forward == FeedForwardType.PLAIN, "its feed-forwards are gated"),
        (not config.scale_output, "it scales what its output projection is given"),
        (config.norm_epsilon == ModelConfig.norm_epsilon, "its LayerNorms have another epsilon"),
    ):
        if not is_marians:
            raise CheckpointError(f"This model cannot be written as one of Marian's: {why}.")
    activations = {ours: theirs for theirs, ours in ACTIVATIONS.items()} | {Activation.SILU: "swish"}
    ids = {"pad": config.pad_id, "eos": config.end_id, "decoder_start": config.begin_id}
    special = {f"{name}_token_id": token_id for name, token_id in ids.items()}
    described = {
        "architectures": ["MarianMTModel"],
        "model_type": "marian",
        "vocab_size": config.vocab_size,
        "d_model": config.d_model,
        "encoder_layers": config.num_encoder_layers,
        "decoder_layers": config.num_decoder_layers,
        "encoder_attention_heads": config.num_heads,
        "decoder_attention_heads": config.num_heads,
        "encoder_ffn_dim": config.d_ff,
        "decoder_ffn_dim": config.d_ff,
        "max_position_embeddings": config.max_length,
        "activation_function": activations[config.activation],
        "scale_embedding": config.scale_embeddings,
        "dropout": config.dropout,
        "share_encoder_decoder_embeddings": True,
        "tie_word_embeddings": True,
        "is_encoder_decoder": True,
        **special,
        "forced_eos_token_id": None,
        "dtype": "float32",
    }
    generation = {
        **special,
        "bad_words_ids": [[token_id] for token_id in config.never_chosen],
        "max_length": config.max_length,
        "num_beams": 1,
    }
    sides = {"source_lang": "source_language", "target_lang": "target_language"}
    languages = {theirs: checkpoint.data[ours] for theirs, ours in sides.items() if ours in checkpoint.data}
    reading = {"tokenizer_class": "MarianTokenizer", "model_max_length": config.max_length, **languages}
    return {
        CONFIG: object_bytes(described),
        "generation_config.json": object_bytes(generation),
        "tokenizer_config.json": object_bytes(reading),
        WEIGHTS: save(_weights(checkpoint), metadata={"format": "pt"}),
        **_tokenizer_files(tokenizer),
    }


def _has_papers_positions(config: ModelConfig) -> bool:
    encoding = config.positions, config.position_base, config.first_position
    return encoding == (Positions.SINUSOIDAL, ModelConfig.position_base, ModelConfig.first_position)


def _weights(checkpoint: Checkpoint) -> dict[str, torch.Tensor]:
    config, parameters = checkpoint.model.config, dict(checkpoint.model.named_parameters())
    order = by_halves(config.d_model)
    weights: dict[str, torch.Tensor] = {}
    for part in parts(config):
        weight = reordered(parameters[part.ours].detach().to("cpu", torch.float32), part, order)
        weights |= zip(part.theirs, weight.chunk(len(part.theirs)), strict=True)
    bias = parameters.get("output_projection.bias")
    zeros = torch.zeros(config.vocab_size)
    weights[OUTPUT_BIAS] = (zeros if bias is None else bias.detach().to("cpu", torch.float32))[None]
    return {name: weight.contiguous() for name, weight in weights.items()}


def _tokenizer_files(tokenizer) -> dict[str, bytes]:
    if not isinstance(tokenizer, Tokenizer):
        return {name: tokenizer.files[name] for name in MARIAN_FILES}
    vocabulary = {tokenizer.piece_text(token_id): token_id for token_id in range(len(tokenizer))}
    return {SOURCE: tokenizer.model, TARGET: tokenizer.model, VOCABULARY: object_bytes(vocabulary)}
