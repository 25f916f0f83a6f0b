"""The learned parameters: counted by the blocks of the paper's figure 1, listed by name, and compared."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

from ..arrays import cosine, require_index, to_array
from ..files import stored_name
from ..model.layers import NORMS, Residual, StackInput
from ..model.names import Name, Stack
from ..model.transformer import Transformer
from .residual import SubLayerKind, sublayers_of

OUTPUT = "output"  # the stack of the blocks after the decoder


class BlockKind(Name):
    """Kind of a box of the figure; a sub-layer has its own name, as in `SubLayerKind`."""

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
    """Yield a sub-layer and the blocks around it: LayerNorm before it and Add after it, or Add & Norm after it."""
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


def output_row(model: Transformer, token: int) -> tuple[np.ndarray, float | None]:
    """Return a token's row of the output projection, [d_model], and its bias if any; ValueError for no such id.

    Where a model scales the projection's input, the row is scaled: its product with the unscaled input is the logit.
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
