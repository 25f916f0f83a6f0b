"""Facts of the moving picture of a whole pass: attention, and a few numbers of each vector on its way."""

from collections.abc import Sequence

import numpy as np

from headlight.app.facts import STEPS, encode_array, pack_facts, to_steps, translation_facts
from transformer.config import Positions
from transformer.errors import UserError
from transformer.interpret.residual import ResidualStream, StackStream, sublayers_of
from transformer.interpret.trace import Trace
from transformer.model.names import Stack
from transformer.model.transformer import Transformer

DIMENSIONS = 12  # drawn of each vector, at equal distances
MOST_TOKENS = 90  # on each side, which a screen can still show
MOST_BYTES = 190_000  # of the facts of a sentence
_HEADER_BYTES_PER_TOKEN = 300  # of the names and the probabilities of its candidates
_BYTES_PER_NUMBER = 8 / 3  # half precision in base64


def pass_facts(trace: Trace, stream: ResidualStream, model: Transformer, moment: str = "") -> bytes:
    """Return the facts of whole_pass/story.js: at most MOST_BYTES.

    Of a long sentence or a large model there are averages over the heads alone, and some of the layers: the first, the
    last, and those between them at equal distances. Raises UserError for more than MOST_TOKENS.
    """
    if (tokens := max(len(trace.source_ids), len(trace.target_ids))) > MOST_TOKENS:
        raise UserError(f"The whole pass is drawn for at most {MOST_TOKENS} tokens on each side; here are {tokens}.")
    kinds = "encoder", "decoder", "cross"
    layers, heads = {kind: len(trace.attention(kind)) for kind in kinds}, trace.encoder.shape[1]
    drawn = _drawn_layers(trace, layers, 1)
    fits = all(len(drawn[kind]) == layers[kind] for kind in kinds) and _drawn_layers(trace, layers, heads) == drawn
    maps = {kind: trace.attention(kind)[drawn[kind]] for kind in kinds}
    if not fits:
        maps = {kind: each.mean(axis=1, keepdims=True) for kind, each in maps.items()}
    sides = {name: {side: each[side] for side in Stack} for name, each in (("layers", layers), ("drawn", drawn))}
    facts = {**translation_facts(trace), **model_facts(model), **sides, "num_forced": trace.num_forced}
    facts |= {"source_text": trace.source_text, "finished": trace.finished, "steps": STEPS, "moment": moment}
    columns = {
        "source_columns": _columns(stream.encoder, drawn["encoder"], facts["dimensions"]),
        "target_columns": _columns(stream.decoder, drawn["decoder"], facts["dimensions"]),
    }
    packed = {name: encode_array(values, "float16") for name, values in columns.items()}
    return pack_facts({**facts, **packed}, {kind: to_steps(each) for kind, each in maps.items()})


def model_facts(model: Transformer) -> dict:
    """Return the facts that are the same for every sentence, with all layers drawn."""
    config, layers = model.config, {stack: len(getattr(model, stack)) for stack in Stack}
    return {
        "layers": layers,
        "drawn": {stack: list(range(count)) for stack, count in layers.items()},
        "heads": config.num_heads,
        "width": config.d_model,
        "hidden": config.d_ff,
        "vocabulary": config.output_size,
        "num_forced": config.num_forced,
        "positioned": config.positions not in (Positions.NONE, Positions.RELATIVE),
        "dimensions": _spread(config.d_model, DIMENSIONS),
        "parameters": {
            f"{stack}.{layer}.{kind}": sum(parameter.numel() for parameter in module.parameters())
            for stack in Stack
            for layer, kind, module, _ in sublayers_of(model, stack)
        },
    }


def _drawn_layers(trace: Trace, layers: dict[str, int], maps_per_layer: int) -> dict[str, list[int]]:
    """Return the numbers of the layers for which there is room, from 0, by kind; at least two of each stack."""
    source, target = len(trace.source_ids), len(trace.target_ids)
    room = MOST_BYTES - _HEADER_BYTES_PER_TOKEN * target
    numbers = DIMENSIONS * _BYTES_PER_NUMBER
    encoder = 2 * maps_per_layer * source**2 + 2 * source * numbers
    decoder = 2 * maps_per_layer * target * (target + source) + 3 * target * numbers
    rest = 4 * (source + target) * numbers
    most = max(2, int((room - rest) / (encoder + decoder)))
    return {kind: _spread(count, min(count, most)) for kind, count in layers.items()}


def _spread(count: int, drawn: int) -> list[int]:
    """Return so many numbers below `count` at equal distances, the first and the last among them."""
    return np.unique(np.linspace(0, count - 1, min(count, drawn)).round().astype(int)).tolist()


def _columns(stack: StackStream, layers: Sequence[int], dimensions: Sequence[int]) -> np.ndarray:
    """Return some numbers of all vectors of a stack: [points, tokens, dimensions].

    The points are the embedding, the position that is added, the input of the first layer, each sub-layer of the
    layers that are drawn, and the stack's output.
    """
    after = [sublayer.after for layer in layers for sublayer in stack.of_layer(layer)]
    points = [stack.embedded, stack.summed - stack.embedded, stack.start, *after, stack.end]
    return np.stack(points)[:, :, dimensions]
