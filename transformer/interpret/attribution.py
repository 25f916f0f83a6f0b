"""Dependence of a predicted token on the tokens before it, by three measures other than raw attention weights.

Gradient times input, leaving tokens out, and the norms of the weighted value vectors. None is the truth: the gradient
looks at an infinitely small change, leaving out at sentences unlike any seen in training, the norms at one layer.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import torch

from ..arrays import read_only, to_array
from ..data.batching import Ids
from ..data.frames import cell_columns, frame_of
from ..model.attention import causal_mask
from ..model.names import Stack
from ..model.transformer import Transformer
from .activations import EMBEDDINGS, Request, record
from .attention_block import BlockParameters, Stages, split_heads

if TYPE_CHECKING:
    import pandas

TOKENS_AT_ONCE = 16  # left out in one pass: more are no faster, and progress could not be shown in between


@dataclass(frozen=True, eq=False)
class Attribution:
    """One value per token of the source and of the decoder's input, positive where it speaks for the predicted token.

    source: [source]; prefix: [step + 1], the decoder's input up to this step. `log_probability` is the predicted
    token's; of a contrast, how far it is above the other's.
    """

    source: np.ndarray
    prefix: np.ndarray
    log_probability: float

    def to_frame(self) -> "pandas.DataFrame":
        """List the values: side, "source" or "prefix", position on it from 0, value."""
        sides = {"source": self.source, "prefix": self.prefix}
        return frame_of("side", {side: cell_columns(["position"], value=values) for side, values in sides.items()})


@dataclass(frozen=True, eq=False)
class Occlusion:
    """Loss of log P of the predicted token without each of some tokens, [tokens], and log P with all of them."""

    drops: np.ndarray
    log_probability: float


def gradient_times_input(
    model: Transformer, source: Ids, decoder_input: Ids, predicted: int, against: int | None = None
) -> Attribution:
    """Compute the gradient of log P(predicted) after `decoder_input` times the embedding, summed over d_model (Denil et
    al. 2014); with `against`, of log P(predicted) - log P(against): why not the other (Yin and Neubig 2022).

    source: ids ending with end of sentence; decoder_input: the ids from begin of sentence up to this step. The
    embedding is the scaled row, before positions are added. The model is left as it was.
    """
    request = Request(keep=EMBEDDINGS, change=(("*_embedding", _as_leaf),), logits_to_keep=1, gradients=True)
    seen = record(model, [source], [decoder_input], request)
    embedded = [seen.call(f"{stack}_input.positions").inputs[0] for stack in Stack]
    with torch.inference_mode(mode=False), torch.enable_grad():
        log_probability = _log_probability(seen.logits[0, -1], predicted, against)
        gradients = torch.autograd.grad(log_probability, embedded)
        of_source, of_prefix = ((grad * x)[0].sum(dim=-1) for grad, x in zip(gradients, embedded, strict=True))
    return Attribution(to_array(of_source), to_array(of_prefix), log_probability.item())


def _log_probability(logits: torch.Tensor, predicted: int, against: int | None) -> torch.Tensor:
    """Compute log P of a token, or how far it is above that of another: [..., vocab] -> [...]."""
    log_probabilities = logits.log_softmax(dim=-1)
    chosen = log_probabilities[..., predicted]
    return chosen if against is None else chosen - log_probabilities[..., against]


def _as_leaf(embedded: torch.Tensor) -> torch.Tensor:
    """Return the embeddings as a leaf of autograd, detached from their computation."""
    return embedded.detach().requires_grad_()


def parts_to_occlude(source: int, decoder_input: int) -> list[range]:
    """Divide the positions of `source` tokens, then of `decoder_input` ones, into parts that one pass can take."""
    count = source + decoder_input
    return [range(first, min(first + TOKENS_AT_ONCE, count)) for first in range(0, count, TOKENS_AT_ONCE)]


def occlude(
    model: Transformer, source: Ids, decoder_input: Ids, predicted: int, positions: Ids, against: int | None = None
) -> Occlusion:
    """Measure how much log P(predicted) falls when one token may not be read by any other, for some positions in turn;
    with `against`, log P(predicted) - log P(against) (erasure, Yin and Neubig 2022).

    The prefix's positions count on from the source's; raises ValueError for others. A source token is masked as padding
    is, in the encoder and in cross-attention; one of the decoder's input in its self-attention. It keeps its position,
    so that all others stay. The last token of the input and a source of a single token cannot be left out: they get
    NaN.
    """
    length, last = len(source), len(source) + len(decoder_input) - 1
    if not all(0 <= position <= last for position in positions):
        raise ValueError(f"positions must be in 0 to {last}, got {list(positions)}")
    rows = 1 + len(positions)  # the first row is the sentence as it is, each other one lacks a token
    source_mask = _source_mask(length, positions, model.device)
    target_mask = causal_mask(len(decoder_input), model.device).repeat(rows, 1, 1, 1)
    for row, position in enumerate(positions, start=1):
        if position >= length:
            target_mask[row, 0, position - length + 1 :, position - length] = False  # its own row keeps it
    request = Request(keep=(), source_mask=source_mask, target_mask=target_mask, logits_to_keep=1)
    seen = record(model, [source] * rows, [decoder_input] * rows, request)
    log_probabilities = to_array(_log_probability(seen.logits[:, -1], predicted, against))
    drops = log_probabilities[0] - log_probabilities[1:]
    impossible = [position == last or (length == 1 and position == 0) for position in positions]
    return Occlusion(read_only(np.where(impossible, np.nan, drops)), float(log_probabilities[0]))


def lost_without_each(model: Transformer, source: Ids, decoder_input: Ids, outputs: Ids) -> np.ndarray:
    """Measure how much log P of every output token falls without each source token: nats, [outputs, source].

    A source token is masked as in `occlude`, of which this has the first part for all rows in one pass.
    """
    losses = []
    for positions in parts_to_occlude(len(source), 0):
        mask = _source_mask(len(source), positions, model.device)
        request = Request(keep=(), source_mask=mask)
        seen = record(model, [source] * len(mask), [decoder_input] * len(mask), request)
        chances = seen.logits.log_softmax(dim=-1)[:, range(len(outputs)), list(outputs)]
        losses.append(to_array(chances[0] - chances[1:]))
    return read_only(np.concatenate(losses).T)


def _source_mask(length: int, positions: Ids, device: torch.device) -> torch.Tensor:
    """Mask nothing in the first row, and one of the positions in each further row: [1 + positions, 1, 1, length]."""
    mask = torch.ones(1 + len(positions), 1, 1, length, dtype=torch.bool, device=device)
    for row, position in enumerate(positions, start=1):
        if position < length:
            mask[row, ..., position] = length == 1  # a row must keep a key
    return mask


def concatenate(parts: Sequence[Occlusion], source: int) -> Attribution:
    """Join what all parts of `parts_to_occlude` lost, in order; the first `source` tokens are those of the source."""
    drops = read_only(np.concatenate([part.drops for part in parts]))
    return Attribution(drops[:source], drops[source:], parts[0].log_probability)


def rank_correlation(first: np.ndarray, second: np.ndarray) -> float:
    """Compute Spearman's correlation, ties at their mean rank; NaN pairs left out, NaN for fewer than three."""
    known = np.isfinite(first) & np.isfinite(second)
    if known.sum() < 3:
        return float("nan")
    centred = []
    for values in (np.asarray(first, dtype=np.float64)[known], np.asarray(second, dtype=np.float64)[known]):
        below, same = values[:, None] > values, values[:, None] == values
        ranks = below.sum(axis=1) + (same.sum(axis=1) + 1) / 2
        centred.append(ranks - ranks.mean())
    length = np.sqrt((centred[0] ** 2).sum() * (centred[1] ** 2).sum())
    return float((centred[0] * centred[1]).sum() / length) if length else float("nan")


def summed_value_norms(stages: Stages, parameters: BlockParameters) -> np.ndarray:
    """Compute the norm of the sum of all heads' weighted value vectors for each pair: [batch, queries, keys].

    Vectors of several heads may cancel, so this is not the sum of the heads' norms.
    """
    weights = np.asarray(stages.weights, dtype=np.float64)
    vectors = np.einsum("bhqk,bhkd->bqkd", weights, transformed_values(stages, parameters))
    return np.asarray(np.linalg.norm(vectors, axis=-1))


def norm_weighted(layers: Sequence[tuple[Stages, BlockParameters]], query: int) -> np.ndarray:
    """Average over layers the shares of the lengths that each key hands to a query of the first sentence: [keys].

    After Kobayashi et al. 2020, all heads of a layer together.
    """
    rows = ((replace(stages, weights=stages.weights[:, :, [query]]), parameters) for stages, parameters in layers)
    return np.asarray(np.mean([shares(summed_value_norms(*row))[0, 0] for row in rows], axis=0))


def transformed_values(stages: Stages, parameters: BlockParameters) -> np.ndarray:
    """Multiply each head's values by its rows of W_O, the effect of a weight of 1: [batch, heads, keys, d_model]."""
    rows = np.asarray(parameters.w_output, dtype=np.float64).reshape(stages.num_heads, stages.d_k, -1)
    return np.asarray(split_heads(np.asarray(stages.value, dtype=np.float64), stages.num_heads) @ rows)


def shares(lengths: np.ndarray) -> np.ndarray:
    """Divide each row by its sum, to be held beside attention; a row of zeros stays 0: [..., queries, keys]."""
    totals = lengths.sum(axis=-1, keepdims=True)
    return np.asarray(np.divide(lengths, totals, out=np.zeros_like(lengths), where=totals > 0))
