"""The residual stream of one sentence: every vector from its embedding through each sub-layer to the logits.

Four ways to read it: one token's trajectory, the hidden units of a feed-forward, the logit lens, and DecoderLens,
the translation from each encoder layer as if it were the last (Langedijk et al. 2024).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor, nn

from ..arrays import cosine, require_index, to_array
from ..data.batching import Ids
from ..data.frames import cell_columns, frame_of
from ..decoding.beam import Beam, beam_search
from ..decoding.sampling import Companions, Greedy, Hypothesis, Sampling, decode
from ..model.layers import NORMS, Gate, Residual
from ..model.names import Stack, SubLayerKind
from ..model.transformer import Transformer
from .activations import Activations, Predictions, Request, predict, record, record_encoder

if TYPE_CHECKING:
    import pandas

LENS_CANDIDATES = 5  # kept a layer and step
MORE_TOKENS = 8  # than the last layer's translation has: enough to see that a translation goes on


@dataclass(frozen=True, eq=False)
class SubLayer:
    """One sub-layer at work. `layer` counts from 0; all arrays are [tokens, d_model].

    before: the residual stream that comes in; change: the sub-layer's output, to be added; after: the residual stream
    that goes on, normalised with post-norm.
    """

    name: SubLayerKind
    layer: int
    before: np.ndarray
    change: np.ndarray
    after: np.ndarray


@dataclass(frozen=True, eq=False)
class StackStream:
    """One side of the model. embedded: rows of the embedding, times sqrt(d_model) where they are scaled; summed: plus
    positions; start: the input of the first layer, their LayerNorm where one stands there; end: the stack's output,
    after its last LayerNorm where it has one; all [tokens, d_model]. Arrays are float32 and read-only.
    """

    embedded: np.ndarray
    summed: np.ndarray
    start: np.ndarray
    sublayers: tuple[SubLayer, ...]
    end: np.ndarray

    def of_layer(self, layer: int) -> tuple[SubLayer, ...]:
        """Return the sub-layers of a layer, counted from 0."""
        return tuple(sublayer for sublayer in self.sublayers if sublayer.layer == layer)


@dataclass(frozen=True, eq=False)
class ResidualStream:
    """Both stacks for one sentence, and the logits: [target, vocab]."""

    encoder: StackStream
    decoder: StackStream
    logits: np.ndarray

    def to_frame(self) -> "pandas.DataFrame":
        """List every token's `Trajectory`: stack, position, point, layer (NaN outside the layers), norm, change,
        similarity, turn; positions and layers count from 0.
        """
        points = ("embedding", "positions", "embedding_norm", *SubLayerKind, "norm")
        stacks = {Stack.ENCODER: self.encoder, Stack.DECODER: self.decoder}
        return frame_of(
            "stack", {name: _trajectories(stack, points) for name, stack in stacks.items()}, {"point": points}
        )


def residual_stream_of(model: Transformer, seen: Activations) -> ResidualStream:
    """Read the residual stream of the first sentence of a pass that kept `RESIDUAL_STREAM`."""
    return ResidualStream(
        encoder=_stack_stream(model, Stack.ENCODER, seen, seen.memory),
        decoder=_stack_stream(model, Stack.DECODER, seen, seen.hidden),
        logits=to_array(seen.logits[0]),
    )


def sublayers_of(model: Transformer, stack: Stack | str) -> Iterator[tuple[int, SubLayerKind, nn.Module, Residual]]:
    """Yield layer, name, sub-layer and the residual connection around it, in the order of computation."""
    for number, layer in enumerate(getattr(model, stack)):
        for name in SubLayerKind:
            if hasattr(layer, name):
                yield number, name, getattr(layer, name), getattr(layer, f"{name}_residual")


def norm_divisor(norm: nn.Module, vector: np.ndarray) -> float:
    """Return a norm's divisor of this vector: its standard deviation, of an RMSNorm its root mean square."""
    assert isinstance(norm, NORMS)
    variance = np.square(vector).mean() if isinstance(norm, nn.RMSNorm) else vector.var()
    return float(np.sqrt(variance + (norm.eps or 0.0)))


def _stack_stream(model: Transformer, stack: Stack, seen: Activations, end: Tensor) -> StackStream:
    sublayers = []
    for layer, kind, *_ in sublayers_of(model, stack):
        name = f"{stack}.{layer}.{kind}"
        around, change = seen.call(f"{name}_residual"), seen.call(name).output
        vectors = (to_array(each[0]) for each in (around.inputs[0], change, around.output))
        sublayers.append(SubLayer(kind, layer, *vectors))
    positions = seen.call(f"{stack}_input.positions")
    return StackStream(
        embedded=to_array(positions.inputs[0][0]),
        summed=to_array(positions.output[0]),
        start=to_array(seen.call(f"{stack}_input").output[0]),
        sublayers=tuple(sublayers),
        end=to_array(end[0]),
    )


def record_hidden_units(
    model: Transformer, source: Ids, decoder_input: Ids, stack: Stack | str, layer: int
) -> np.ndarray:
    """Record a feed-forward's units after its activation, [tokens, d_ff]; raises ValueError for no such layer."""
    model.layer(stack, layer)  # raises ValueError
    name = f"{stack}.{layer}.feed_forward.activate"
    seen = record(model, [source], [decoder_input], Request(keep=(name,), logits_to_keep=1))
    return to_array(seen.call(name).output[0])


def record_gates(
    model: Transformer, source: Ids, decoder_input: Ids, stack: Stack | str, layer: int
) -> tuple[np.ndarray, np.ndarray]:
    """Record the gates of a gated feed-forward, activated, and their factors: [tokens, d_ff] each.

    Raises ValueError for no such layer, and for a feed-forward that is not gated.
    """
    gate = model.layer(stack, layer).feed_forward.activate
    if not isinstance(gate, Gate):
        raise ValueError(f"a gated feed-forward expected, got one that is {model.config.feed_forward}")
    name = f"{stack}.{layer}.feed_forward.activate"
    seen = record(model, [source], [decoder_input], Request(keep=(name,), logits_to_keep=1))
    with torch.inference_mode():
        activated, factor = seen.call(name).inputs[0][0].chunk(2, dim=-1)
        return to_array(gate.activation(activated)), to_array(factor)


@dataclass(frozen=True, eq=False)
class Trajectory:
    """One token's vector along the residual stream: embedding, positions, the LayerNorm after them where there is one,
    after each sub-layer, and the stack's end.

    `points` names each: (kind, layer), the layer counted from 0 and None outside the layers. norms: of the vector
    there; changes: the norm of the last addition, NaN at the embedding; similarities: cosine with the
    embedding; turns: cosine with the vector before, 1 at the embedding. All [points].
    """

    points: tuple[tuple[str, int | None], ...]
    norms: np.ndarray
    changes: np.ndarray
    similarities: np.ndarray
    turns: np.ndarray


def trajectory(stack: StackStream, token: int) -> Trajectory:
    """Follow a token, counted from 0; raises ValueError for one that is not there.

    A change is the addition to the vector before, ahead of any LayerNorm: the position's vector, a sub-layer's output;
    at a LayerNorm outside of the layers, the difference that it made.
    """
    require_index("token", token, len(stack.start))
    points: list[tuple[str, int | None]] = [("embedding", None)]
    vectors, changes = [stack.embedded[token]], [np.full_like(stack.embedded[token], np.nan)]

    def add(name: str, after: np.ndarray) -> None:
        if not np.array_equal(after, vectors[-1]):  # where there is none, the vector is the same
            points.append((name, None))
            changes.append(after - vectors[-1])
            vectors.append(after)

    add("positions", stack.summed[token])
    add("embedding_norm", stack.start[token])
    for sublayer in stack.sublayers:
        points.append((sublayer.name, sublayer.layer))
        vectors.append(sublayer.after[token])
        changes.append(sublayer.change[token])
    add("norm", stack.end[token])
    rows = np.asarray(vectors, dtype=np.float64)
    return Trajectory(
        points=tuple(points),
        norms=np.linalg.norm(rows, axis=1),
        changes=np.linalg.norm(np.asarray(changes, dtype=np.float64), axis=1),
        similarities=cosine(rows, rows[:1]),
        turns=cosine(rows, np.vstack([rows[:1], rows[:-1]])),
    )


def _trajectories(stack: StackStream, points: Sequence[str]) -> dict[str, np.ndarray]:
    """Make the columns of all tokens' trajectories, `point` as an index into the names of points."""
    followed = [trajectory(stack, token) for token in range(len(stack.start))]
    names, layers = zip(*followed[0].points, strict=True)  # the same of every token
    measures = {"norm": "norms", "change": "changes", "similarity": "similarities", "turn": "turns"}
    columns = cell_columns(
        ("position", "point"),
        layer=np.tile(np.array(layers, dtype=np.float64), (len(followed), 1)),
        **{name: np.stack([getattr(each, field) for each in followed]) for name, field in measures.items()},
    )
    return {**columns, "point": np.array([points.index(name) for name in names])[columns["point"]]}


@torch.inference_mode()
def logit_lens(model: Transformer, stream: ResidualStream, target_ids: Ids) -> Predictions:
    """Put every decoder layer's vectors through the output projection (nostalgebraist 2020): [layers + 1, target].

    Row 0 is the start, decoder input plus position; the last row is the model's own prediction. target_ids: the ids
    that follow, one a position. With pre-norm the stack's last LayerNorm is applied to every layer, as it is to the
    last. With post-norm each layer ends with its own.
    """
    layers = range(len(model.decoder))
    vectors = [stream.decoder.start, *(stream.decoder.of_layer(layer)[-1].after for layer in layers)]
    hidden = model.decoder_norm(
        torch.tensor(np.stack(vectors), device=model.device, dtype=model.dtype)
    )  # layers+1 target d_model
    following = torch.tensor(list(target_ids), device=model.device)
    return predict(model.output_projection(hidden), following, LENS_CANDIDATES)


def decoder_lens(
    model: Transformer,
    source: Ids,
    strategy: Greedy | Sampling | Beam | None = None,
    prefix: Ids = (),
    more: int | None = None,
) -> list[Hypothesis]:
    """Decode the best translation from the output of each encoder layer: [layers + 1], all decoded side by side.

    The first reads the embeddings with their positions, the last is the model's own. source: ids ending with end of
    sentence; prefix: ids that each begins with; greedy without a strategy; more: tokens after the end of the last
    layer's translation at which endless translations stop, except in a beam search, which ranks by the final length.
    With pre-norm each layer's output goes through the encoder's last LayerNorm, as the last one's does; with post-norm
    each layer ends with its own. Raises ValueError for a source or prefix that does not fit the model.
    """
    memory = _read_early(model, source)
    rows, prefixes, last = [source] * len(memory), [prefix] * len(memory), len(memory) - 1
    if isinstance(strategy, Beam):
        return [best for best, *_ in beam_search(model, rows, strategy, prefixes, memory)]
    companions = None if more is None else Companions({last: range(last)}, more)
    return decode(model, rows, strategy or Greedy(), prefixes, memory, companions)


def kept_positions(ids: Ids, last: Ids) -> set[int]:
    """Return the positions in `ids` of a longest common subsequence with `last`."""
    best: list[tuple[int, ...]] = [()] * (len(last) + 1)
    for position, token in enumerate(ids):
        row: list[tuple[int, ...]] = [()]
        for diagonal, above, other in zip(best, best[1:], last, strict=False):
            row.append((*diagonal, position) if token == other else max(above, row[-1], key=len))
        best = row
    return set(best[-1])


def _read_early(model: Transformer, source: Ids) -> Tensor:
    """Record the memory of each encoder layer: [layers + 1, source, d_model]."""
    calls = record_encoder(model, [source], Request(keep=("encoder_input", "encoder.*"))).calls
    outputs = torch.cat([call.output for (call,) in calls.values()])
    with torch.inference_mode():
        memory: Tensor = model.encoder_norm(outputs)
    return memory
