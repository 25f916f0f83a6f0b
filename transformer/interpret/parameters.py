"""The learned parameters: counted by the blocks of the paper's figure 1, listed by name, and compared."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import nn

from ..arrays import cosine, require_index, to_array
from ..config import FeedForwardType, ModelConfig, Norm, NormType, Positions
from ..files import stored_name
from ..model.layers import NORMS, Residual, StackInput, norm_bias
from ..model.names import Name, Stack
from ..model.transformer import Transformer
from .residual import SubLayerKind, sublayers_of

OUTPUT = "output"  # the stack of what comes after the decoder
WIDTHS = (128, 256, 512, 1024)  # d_model, the paper's 512 among them


class BlockKind(Name):
    """What a box of the figure is; a sub-layer has its own name, as in `SubLayerKind`."""

    EMBEDDING = "embedding"
    POSITIONS = "positions"
    SELF_ATTENTION = "self_attention"
    CROSS_ATTENTION = "cross_attention"
    FEED_FORWARD = "feed_forward"
    NORM = "norm"
    ADD = "add"
    ADD_AND_NORM = "add_and_norm"
    OUTPUT_PROJECTION = "output_projection"
    SOFTMAX = "softmax"


@dataclass(frozen=True)
class Block:
    """One box of the figure. `stack` is "encoder", "decoder" or "output"; `layer` counts from 0 and is None elsewhere.

    `parameters` are counted where they are first used: a matrix that is shared counts 0 elsewhere, and `shared_with`
    names where.
    """

    name: str
    stack: str
    kind: BlockKind
    layer: int | None = None
    parameters: int = 0
    shared_with: str | None = None


def blocks_of(model: Transformer) -> list[Block]:
    """List all blocks in the order of computation, encoder first."""
    tied = model.output_projection.weight is model.target_embedding.weight
    with_source = "source_embedding" if model.target_embedding is model.source_embedding else None
    shared = (with_source or "target_embedding") if tied else None
    unshared = _count(model.output_projection) - (model.output_projection.weight.numel() if tied else 0)
    return [
        *_stack_blocks(model, Stack.ENCODER, None),
        *_stack_blocks(model, Stack.DECODER, with_source),
        # The output projection has this name in addresses and in files.
        Block("generator", OUTPUT, BlockKind.OUTPUT_PROJECTION, parameters=unshared, shared_with=shared),
        Block("softmax", OUTPUT, BlockKind.SOFTMAX),
    ]


def _stack_blocks(model: Transformer, name: Stack, shared_with: str | None) -> Iterator[Block]:
    side = "source" if name == Stack.ENCODER else "target"
    count = 0 if shared_with else _count(getattr(model, f"{side}_embedding"))
    yield Block(f"{side}_embedding", name, BlockKind.EMBEDDING, parameters=count, shared_with=shared_with)
    entry: StackInput = getattr(model, f"{name}_input")
    relative = getattr(model, f"{name}_relative")
    count = _count(entry.positions) + (0 if relative is None else _count(relative))
    yield Block(f"{side}_positions", name, BlockKind.POSITIONS, parameters=count)
    if isinstance(entry.norm, NORMS):
        yield Block(f"{name}_embedding_norm", name, BlockKind.NORM, parameters=_count(entry.norm))
    for layer, kind, module, residual in sublayers_of(model, name):
        yield from _sublayer_blocks(name, layer, kind, module, residual)
    last = getattr(model, f"{name}_norm")
    if isinstance(last, NORMS):
        yield Block(f"{name}_norm", name, BlockKind.NORM, parameters=_count(last))


def _sublayer_blocks(
    stack: Stack, layer: int, kind: SubLayerKind, module: nn.Module, residual: Residual
) -> Iterator[Block]:
    """Yield a sub-layer and what stands around it: LayerNorm before it and Add after it, or Add & Norm after it."""
    name, norms = f"{stack}.{layer}.{kind}", _count(residual.norm)
    if residual.norm_first:
        yield Block(f"{name}_residual.norm", stack, BlockKind.NORM, layer, norms)
    yield Block(name, stack, BlockKind(kind), layer, _count(module))
    if residual.norm_first:
        yield Block(f"{name}_residual", stack, BlockKind.ADD, layer)
    else:
        yield Block(f"{name}_residual", stack, BlockKind.ADD_AND_NORM, layer, norms)


def _count(module: nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())


@dataclass(frozen=True)
class ParameterRow:
    """One parameter of the model: its name in the checkpoint's file, shape, how many values, and where it is shared."""

    name: str
    shape: tuple[int, ...]
    count: int
    shared_with: str | None


def parameter_rows(model: Transformer) -> list[ParameterRow]:
    """List every parameter of every module; one that is used again is listed again, with a count of 0."""
    rows, first_names = [], dict[torch.nn.Parameter, str]()
    inputs = tuple(f"{stack}_input." for stack in Stack)  # whose parts are stored under names of their own
    for full_name, parameter in model.named_parameters(remove_duplicate=False):
        if full_name.startswith(inputs):
            continue
        name = stored_name(full_name)
        first = first_names.setdefault(parameter, name)
        count, shared_with = (parameter.numel(), None) if first == name else (0, first)
        rows.append(ParameterRow(name, tuple(parameter.shape), count, shared_with))
    return rows


def parameters_at(config: ModelConfig, widths: Sequence[int]) -> dict[int, int]:
    """Count a model's parameters with each d_model instead and d_ff growing alike, where heads divide it.

    Counted from the layers' shapes: embeddings, learned positions, a bias a piece where the output has one, 4 d_model^2
    + 4 d_model an attention, 2 d_model d_ff + d_ff + d_model a feed-forward, 2 d_model a LayerNorm (paper, 3.2 to 3.4).
    Heads of a size of their own keep it; a gated feed-forward has a third matrix, an RMSNorm no beta.
    """
    return {
        width: _count_from_shapes(replace(config, d_model=width, d_ff=config.d_ff * width // config.d_model))
        for width in widths
        if config.head_size or width % config.num_heads == 0
    }


def _count_from_shapes(config: ModelConfig) -> int:
    d, ff, heads = config.d_model, config.d_ff, config.num_heads * config.d_k
    inner = ff * (2 if config.feed_forward == FeedForwardType.GATED else 1)
    attention, feed_forward = 4 * d * heads, (inner + ff) * d
    if config.bias:
        attention, feed_forward = attention + 3 * heads + d, feed_forward + inner + d
    norm = d if config.norm_type == NormType.RMS else 2 * d
    encoder = config.num_encoder_layers * (attention + feed_forward + 2 * norm)
    decoder = config.num_decoder_layers * (2 * attention + feed_forward + 3 * norm)
    around = 2 * norm * ((config.norm == Norm.PRE) + config.embedding_norm)
    tables_of = {
        Positions.LEARNED: config.max_length * d,
        Positions.RELATIVE: config.relative_buckets * config.num_heads,
    }
    positions = 2 * tables_of.get(config.positions, 0)
    of_target = 1 if config.ties_output else 2
    shared = config.share_embeddings and not config.target_vocab_size
    tables = ((0 if shared else config.vocab_size) + of_target * config.output_size) * d
    return tables + positions + (config.output_size if config.output_bias else 0) + encoder + decoder + around


def norm_parameters(model: Transformer) -> list[tuple[str, np.ndarray, np.ndarray]]:
    """Return name, gamma and beta, [d_model] each, of every LayerNorm or RMSNorm, whose beta is 0."""
    return [
        (name, to_array(module.weight), to_array(norm_bias(module)))
        for name, module in model.named_modules()
        if isinstance(module, NORMS)
    ]


def output_row(model: Transformer, token: int) -> tuple[np.ndarray, float | None]:
    """Return a token's row of the output projection, [d_model], and its bias if any; ValueError for no such id.

    Where a model scales what the projection is given, the row is scaled: its product with that is the logit.
    """
    require_index("id", token, model.config.output_size)
    projection = model.output_projection
    bias = None if projection.bias is None else projection.bias[token].item()
    return to_array(projection.weight[token] * projection.scale), bias


def nearest(matrix: np.ndarray, token: int, count: int = 10) -> list[tuple[int, float]]:
    """Return the ids whose rows have the largest cosine with the row of `token`, itself left out, largest first.

    matrix: [vocab, d_model]. A row of zeros has the cosine 0 with all. Raises ValueError for an id that is not there.
    """
    require_index("id", token, len(matrix))
    cosines = cosine(matrix, matrix[token])
    order = [int(other) for other in np.argsort(-cosines, kind="stable") if other != token]
    return [(other, float(cosines[other])) for other in order[:count]]
