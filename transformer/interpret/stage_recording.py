"""The stages of one attention block as the model itself goes through them, read off by hooks."""

import contextlib
from collections.abc import Iterator, Sequence

import numpy as np
import torch
from torch import Tensor, nn

from ..arrays import read_only
from ..model.attention import MultiHeadAttention, attention_scores, attention_weights, causal_mask
from ..model.layers import Residual
from ..model.transformer import Transformer
from .attention_block import BlockParameters, Stages
from .hooks import attention_blocks, hooked


@torch.inference_mode()
def record_stages(model: Transformer, source: Sequence[int], fed: Sequence[int], kind: str, layer: int) -> Stages:
    """One teacher-forced pass over one sentence in which one attention block is watched. Arrays are float32.

    source: ids ending with end of sentence; fed: ids beginning with begin of sentence. What the fused kernel never
    shows, scores and weights, comes from the queries, keys and mask that it was given. Raises ValueError for a kind or
    layer that is not there, or a model in training mode.
    """
    if model.training:
        raise ValueError("recording expects a model in eval mode, got one in training mode")
    block, residual = block_at(model, kind, layer)
    sources = torch.tensor([list(source)], device=model.device)
    with _watched_block(block, residual) as seen:
        memory = model.encode(sources, None)  # one sentence: no padding
        if kind != "encoder":
            fed_ids = torch.tensor([list(fed)], device=model.device)
            model.decode(fed_ids, memory, causal_mask(len(fed), model.device), None)
    return _assemble(block, seen)


def block_parameters(model: Transformer, kind: str, layer: int) -> BlockParameters:
    """What the block of a kind and layer has learned; raises ValueError for one that is not there."""
    block, residual = block_at(model, kind, layer)
    weights = [_array(part.T) for part in block.query_key_value.weight.chunk(3)]
    biases = [_array(part) for part in block.query_key_value.bias.chunk(3)]
    return BlockParameters(
        *weights,
        _array(block.output.weight.T),
        *biases,
        _array(block.output.bias),
        gamma=_array(residual.norm.weight),
        beta=_array(residual.norm.bias),
        epsilon=residual.norm.eps,
        num_heads=block.num_heads,
        norm=model.config.norm,
    )


def block_at(model: Transformer, kind: str, layer: int) -> tuple[MultiHeadAttention, Residual]:
    """The attention of a kind in a layer, counted from 0, and the residual around it; raises ValueError."""
    blocks = attention_blocks(model, kind)
    if not 0 <= layer < len(blocks):
        raise ValueError(f"layer must be in 0 to {len(blocks) - 1}, got {layer}")
    owner = (model.encoder if kind == "encoder" else model.decoder)[layer]
    return blocks[layer], owner.cross_attention_residual if kind == "cross" else owner.self_attention_residual


@contextlib.contextmanager
def _watched_block(block: MultiHeadAttention, residual: Residual) -> Iterator[dict[str, tuple]]:
    """Within the block, what this thread's pass gives to each module and gets from it: (*arguments, output)."""
    seen: dict[str, tuple] = {}

    def keep(name: str):
        def hook(module: nn.Module, arguments: tuple, output: Tensor) -> None:
            seen[name] = (*arguments, output)

        return hook

    with hooked([(block, keep("block")), (block.core, keep("core")), (residual, keep("residual"))]):
        yield seen


def _assemble(block: MultiHeadAttention, seen: dict[str, tuple]) -> Stages:
    stream, _, result = seen["residual"]
    x, memory, _, output = seen["block"]
    query, key, value, mask, heads = seen["core"]  # batch heads length d_k
    open_cells = torch.ones(query.shape[0], query.shape[2], key.shape[2], dtype=torch.bool)
    if mask is not None:
        open_cells = mask.cpu().expand(1, 1, *mask.shape[-2:])[:, 0].expand_as(open_cells)
    arrays = (
        stream, x, memory, block.merge(query), block.merge(key), block.merge(value),
        query @ key.transpose(-2, -1), attention_scores(query, key), open_cells, attention_weights(query, key, mask),
        block.merge(heads), output, stream + output, result,
    )  # fmt: skip
    return Stages(*map(_array, arrays))


def _array(tensor: Tensor) -> np.ndarray:
    return read_only(np.ascontiguousarray(tensor.detach().cpu().numpy()))
