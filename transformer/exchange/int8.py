"""A checkpoint as the engine in a browser reads it: weights of one byte each, and a header that says what they are.

Each row of a matrix is stored as whole numbers from -127 to 127 and one scale, its largest magnitude / 127; vectors
(biases, LayerNorms) stay float32. The engine, headlight/components/engine, keeps them so in memory.
"""

import dataclasses

import numpy as np
import torch

from ..checkpoint import Checkpoint
from ..config import Activation, FeedForwardType, ModelConfig, NormType, Positions
from ..data.tokenizer import SPACE, Tokenizer
from ..errors import CheckpointError
from ..files import quantize
from ..model.transformer import Transformer

MOST_WEIGHTS = 40_000_000  # 160 MB of a browser's memory
_ALIGNED = 4  # bytes: where an array of float32 may begin


def pack(checkpoint: Checkpoint) -> tuple[dict, bytes]:
    """Return a header, which is JSON, and the bytes of all weights.

    header: `config`, `tensors` (each with name, shape, offset in bytes and, of a matrix, that of its rows' scales) and
    `tokenizer`. Raises CheckpointError, one sentence, for a model that the engine cannot run.
    """
    header, content = pack_weights(checkpoint.model)
    return header | {"tokenizer": _tokenizer(checkpoint.tokenizer)}, content


def pack_weights(model: Transformer) -> tuple[dict, bytes]:
    """Return the same of a model without its tokenizer; raises CheckpointError for one of more than `MOST_WEIGHTS`."""
    _require_shape(model.config)
    _require_few(model.count_parameters())
    parts, tensors, end = [], [], 0

    def add(array: np.ndarray) -> int:
        nonlocal end
        start, content = end, array.tobytes()
        parts.append(content + b"\0" * (-len(content) % _ALIGNED))
        end += len(parts[-1])
        return start

    for name, weight in _weights(model).items():
        entry: dict = {"name": name, "shape": list(weight.shape)}
        if weight.ndim == 2:
            whole, scales = quantize(weight)
            entry |= {"offset": add(whole), "scales": add(scales.astype("<f4"))}
        else:
            entry |= {"offset": add(weight.astype("<f4"))}
        tensors.append(entry)
    return {"config": dataclasses.asdict(model.config), "tensors": tensors}, b"".join(parts)


def packed_size(checkpoint: Checkpoint) -> int:
    """Return how many bytes `pack` gives to the weights, which are not packed; raises CheckpointError as it does."""
    _require_shape(checkpoint.model.config)
    _require_few(checkpoint.model.count_parameters())
    _tokenizer(checkpoint.tokenizer)
    shapes = [parameter.shape for parameter in checkpoint.model.parameters()]
    return sum(shape.numel() + 4 * shape[0] if len(shape) == 2 else 4 * shape.numel() for shape in shapes)


def round_weights(model: Transformer) -> None:
    """Give a model, in place, the weights that the engine computes with, bit for bit."""
    rounded = {}
    for name, weight in _weights(model).items():
        if weight.ndim == 2:
            whole, scales = quantize(weight)
            weight = whole.astype(np.float32) * scales[:, None]
        rounded[name] = torch.from_numpy(weight)
    model.set_weights(rounded)


def _weights(model: Transformer) -> dict[str, np.ndarray]:
    return {name: weight.detach().cpu().float().numpy() for name, weight in model.named_parameters()}


def _require(is_so: bool, why: str) -> None:
    if not is_so:
        raise CheckpointError(f"This model cannot run in a browser: {why}.")


def _require_shape(config: ModelConfig) -> None:
    for is_so, what in (
        (config.positions != Positions.RELATIVE, "relative positions"),
        (config.norm_type == NormType.LAYER, "RMSNorm"),
        (config.feed_forward == FeedForwardType.PLAIN, "a gated feed-forward"),
        (config.activation != Activation.GELU_NEW, "the activation gelu_new"),
        (config.d_k * config.num_heads == config.d_model, "heads that are not as wide together as the model"),
        (config.bias, "no biases"),
        (not config.separate_output, "an output projection of its own"),
        (config.norm_epsilon == ModelConfig.norm_epsilon, "LayerNorms of another epsilon"),
        (config.scale_scores and not config.scale_output, "scores or an output that are not scaled as the paper's"),
    ):
        _require(is_so, f"it has {what}, which the engine there does not know")


def _require_few(count: int) -> None:
    _require(count <= MOST_WEIGHTS, f"it has {count:,} weights, more than {MOST_WEIGHTS:,}")


def _tokenizer(tokenizer) -> dict:
    """Return the data of the engine's tokenizer; raises CheckpointError for one that it cannot be.

    The `scores` are those of a unigram model. Byte-pair encoding needs none: its pieces stand in the order of merges.
    """
    _require(isinstance(tokenizer, Tokenizer), "its tokenizer is of another make")
    proto = tokenizer.proto
    kinds, trainer, normalizer, pieces = type(proto.pieces[0]), proto.trainer_spec, proto.normalizer_spec, proto.pieces
    normal = [piece for piece in pieces if piece.type == kinds.NORMAL]
    is_unigram = trainer.model_type == trainer.UNIGRAM
    splits_words = (
        normalizer.name == "nmt_nfkc"
        and normalizer.add_dummy_prefix
        and normalizer.remove_extra_whitespaces
        and normalizer.escape_whitespaces
        and not trainer.treat_whitespace_as_suffix
    )
    is_known = splits_words and trainer.model_type in (trainer.BPE, trainer.UNIGRAM)
    _require(is_known, "its tokenizer is not byte-pair encoding or a unigram model with the normaliser nmt_nfkc")
    known = {kinds.NORMAL, kinds.UNKNOWN, kinds.CONTROL}
    is_ordered = all(before.score > after.score for before, after in zip(normal, normal[1:], strict=False))
    in_words = all(SPACE not in piece.piece[1:] for piece in normal)  # merges stay within a word
    is_plain = {piece.type for piece in pieces} <= known and (is_unigram or is_ordered and in_words)
    _require(is_plain, "its tokenizer has pieces of another kind")
    data = {
        "pieces": [piece.piece for piece in pieces],
        "unknown": tokenizer.unknown_id,
        "controls": [number for number, piece in enumerate(pieces) if piece.type == kinds.CONTROL],
    }
    if is_unigram:  # the shortest decimals that are these float32
        data["scores"] = [float(str(np.float32(piece.score))) for piece in pieces]
    return data
