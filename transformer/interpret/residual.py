"""The residual stream: every vector of a sentence from its embedding through each sub-layer to the logits."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from ..arrays import read_only
from ..model.attention import causal_mask
from ..model.layers import Residual
from ..model.transformer import Transformer
from .hooks import hooked

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


@dataclass(frozen=True, eq=False)
class Walk:
    """Stations of one token: embedding, position, each sub-layer, and the stack's end. All arrays are [stations].

    lengths: of the vector there; changes: of what was added to come there, NaN at the embedding; similarities: cosine
    with the embedding; turns: cosine with the station before, 1 at the embedding. `places` names each station: (kind,
    layer), the layer counted from 0 and None outside the layers.
    """

    places: tuple[tuple[str, int | None], ...]
    lengths: np.ndarray
    changes: np.ndarray
    similarities: np.ndarray
    turns: np.ndarray


def walk(stack: Stack, token: int) -> Walk:
    """The stations of a token, counted from 0; raises ValueError for one that is not there.

    A change is what the station before was added, before any LayerNorm: the position's vector, a sub-layer's output; at
    the end, what the last LayerNorm did.
    """
    if not 0 <= token < len(stack.start):
        raise ValueError(f"token must be in 0 to {len(stack.start) - 1}, got {token}")
    places: list[tuple[str, int | None]] = [("embedding", None), ("positions", None)]
    vectors = [stack.embedded[token], stack.start[token]]
    changes = [np.full_like(vectors[0], np.nan), vectors[1] - vectors[0]]
    for sublayer in stack.sublayers:
        places.append((sublayer.name, sublayer.layer))
        vectors.append(sublayer.after[token])
        changes.append(sublayer.change[token])
    if not np.array_equal(stack.end[token], vectors[-1]):
        places.append(("norm", None))
        changes.append(stack.end[token] - vectors[-1])
        vectors.append(stack.end[token])
    rows = np.asarray(vectors, dtype=np.float64)
    before = np.vstack([rows[:1], rows[:-1]])
    return Walk(
        tuple(places), np.linalg.norm(rows, axis=1), np.linalg.norm(np.asarray(changes, dtype=np.float64), axis=1),
        _cosines(rows, rows[:1]), _cosines(rows, before),
    )  # fmt: skip


def _cosines(rows: np.ndarray, others: np.ndarray) -> np.ndarray:
    lengths = np.linalg.norm(rows, axis=1) * np.linalg.norm(others, axis=1)
    return (rows * others).sum(axis=1) / np.maximum(lengths, 1e-300)


TOP = 5  # candidates kept a layer and step


@dataclass(frozen=True, eq=False)
class Lens:
    """Every decoder layer's vectors put through the generator. Layer 0 is the start, fed token plus position; the last
    row is the model's own prediction.

    best_ids, best_probabilities: [layers + 1, target, TOP], most probable first; probabilities and ranks (1 is most
    probable) of the token that follows in the end: [layers + 1, target]; entropies in nats: [layers + 1, target].
    """

    best_ids: np.ndarray
    best_probabilities: np.ndarray
    probabilities: np.ndarray
    ranks: np.ndarray
    entropies: np.ndarray


@torch.inference_mode()
def logit_lens(model: Transformer, stream: Stream, following: Sequence[int]) -> Lens:
    """Read each layer of a recorded stream; `following` are the ids that come next, one a row.

    With pre-norm the stack's last LayerNorm is applied to every layer, as it is to the last. With post-norm each layer
    ends with its own.
    """
    layers = len(model.decoder)
    vectors = [stream.decoder.start, *(stream.decoder.of_layer(layer)[-1].after for layer in range(layers))]
    hidden = model.decoder_norm(torch.tensor(np.stack(vectors), device=model.device))  # layers+1 target d_model
    logs = model.generator(hidden).log_softmax(dim=-1)
    top = logs.topk(min(TOP, logs.shape[-1]), dim=-1)
    chosen = logs.gather(-1, torch.tensor(list(following), device=model.device).expand(layers + 1, -1)[..., None])
    arrays = (
        top.indices, top.values.exp(), chosen[..., 0].exp(), (logs > chosen).sum(dim=-1) + 1,
        -(logs.exp() * logs).sum(dim=-1),
    )  # fmt: skip
    return Lens(*(read_only(array.cpu().numpy()) for array in arrays))
