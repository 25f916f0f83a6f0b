"""The residual stream: every vector of a sentence from its embedding through each sub-layer to the logits."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from .layers import Residual
from .masks import causal_mask
from .model import Transformer
from .recording import hooked
from .trace import read_only

SUBLAYERS = ("self_attention", "cross_attention", "feed_forward")


@dataclass(frozen=True, eq=False)
class SubLayer:
    """One sub-layer at work. `layer` counts from 0; all arrays are [tokens, d_model].

    before: what comes along the residual way; change: what the sub-layer makes of it, to be added; after: what goes on,
    normalised with post-norm.
    """

    name: str
    layer: int
    before: np.ndarray
    change: np.ndarray
    after: np.ndarray


@dataclass(frozen=True, eq=False)
class Stack:
    """One side of the model. embedded: rows of the embedding times sqrt(d_model); start: plus positions; end: what the
    stack gives, after its last LayerNorm where it has one; all [tokens, d_model]. Arrays are float32 and read-only."""

    embedded: np.ndarray
    start: np.ndarray
    sublayers: tuple[SubLayer, ...]
    end: np.ndarray

    def of_layer(self, layer: int) -> tuple[SubLayer, ...]:
        """The sub-layers of a layer, counted from 0."""
        return tuple(sublayer for sublayer in self.sublayers if sublayer.layer == layer)


@dataclass(frozen=True, eq=False)
class Stream:
    """Both stacks for one sentence, and the logits: [target, vocab]."""

    encoder: Stack
    decoder: Stack
    logits: np.ndarray


@torch.inference_mode()
def record_stream(model: Transformer, source: Sequence[int], fed: Sequence[int]) -> Stream:
    """One teacher-forced pass over one sentence with every sub-layer watched.

    source: ids ending with end of sentence; fed: ids beginning with begin of sentence. Raises ValueError for a model in
    training mode, whose dropout would make each pass another.
    """
    if model.training:
        raise ValueError("recording expects a model in eval mode, got one in training mode")
    seen: dict[nn.Module, list[tuple]] = {}

    def keep(module: nn.Module, arguments: tuple, output: Tensor) -> None:
        seen.setdefault(module, []).append((*arguments, output))

    ids = [torch.tensor([list(side)], device=model.device) for side in (source, fed)]
    with hooked((module, keep) for module in dict.fromkeys(_watched(model))):
        memory = model.encode(ids[0], None)  # one sentence: no padding
        hidden = model.decode(ids[1], memory, causal_mask(len(fed), model.device), None)
        logits = model.generator(hidden)
    # Both sides run through the one module of positions, and through one embedding where it is shared.
    stacks = [
        _stack(model, name, seen, positioned, end)
        for name, positioned, end in zip(("encoder", "decoder"), seen[model.positions], (memory, hidden), strict=True)
    ]
    return Stream(*stacks, _array(logits))


def sublayers_of(model: Transformer, stack: str) -> Iterator[tuple[int, str, nn.Module, Residual]]:
    """Layer, name, sub-layer and the residual around it, in the order of computation; `stack` is encoder or decoder."""
    for number, layer in enumerate(getattr(model, stack)):
        for name in SUBLAYERS:
            if hasattr(layer, name):
                yield number, name, getattr(layer, name), getattr(layer, f"{name}_residual")


def _watched(model: Transformer) -> Iterator[nn.Module]:
    yield model.positions
    for stack in ("encoder", "decoder"):
        for _, _, module, residual in sublayers_of(model, stack):
            yield from (module, residual)


def _stack(model: Transformer, name: str, seen: dict, positioned: tuple, end: Tensor) -> Stack:
    embedded, start = positioned
    sublayers = tuple(
        SubLayer(kind, number, _array(seen[residual][0][0]), _array(seen[module][0][-1]), _array(seen[residual][0][-1]))
        for number, kind, module, residual in sublayers_of(model, name)
    )
    return Stack(_array(embedded), _array(start), sublayers, _array(end))


@torch.inference_mode()
def hidden_units_of(model: Transformer, stream: Stream, stack: str, layer: int) -> np.ndarray:
    """What the hidden units of a layer's feed-forward gave for each token, after ReLU: [tokens, d_ff].

    `stack` is "encoder" or "decoder", the layer counts from 0. Raises ValueError for one that is not there.
    """
    blocks = getattr(model, stack)
    if not 0 <= layer < len(blocks):
        raise ValueError(f"layer must be in 0 to {len(blocks) - 1}, got {layer}")
    block = blocks[layer]
    x = torch.tensor(getattr(stream, stack).of_layer(layer)[-1].before, device=model.device)[None]
    if block.feed_forward_residual.norm_first:
        x = block.feed_forward_residual.norm(x)
    return _array(block.feed_forward.inner(x).relu())


def _array(tensor: Tensor) -> np.ndarray:
    """A batch of one sentence without its axis, on the CPU."""
    return read_only(np.ascontiguousarray(tensor[0].cpu().numpy()))
