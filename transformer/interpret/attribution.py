"""What a predicted token depends on, by two other means than attention: gradient times input, and leaving tokens out.

Neither is the truth. The gradient looks at an infinitely small change, leaving out at one the model has never seen.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from ..arrays import read_only
from ..model.attention import causal_mask
from ..model.transformer import Transformer
from .attention_block import BlockParameters, Stages, split_heads

PLACES_AT_ONCE = 16  # more in one pass are no faster, and none could be told of in between


@dataclass(frozen=True, eq=False)
class Attribution:
    """One value a token of the source and of the fed prefix, positive where it speaks for the predicted token.

    source: [source]; prefix: [step + 1], the tokens fed up to this step. `log_probability` is the predicted token's.
    """

    source: np.ndarray
    prefix: np.ndarray
    log_probability: float


@dataclass(frozen=True, eq=False)
class LeftOut:
    """What log P of the predicted token lost without each of some tokens, [places], and what it is with all of them."""

    drops: np.ndarray
    log_probability: float


def gradient_times_input(model: Transformer, source: Sequence[int], fed: Sequence[int], predicted: int) -> Attribution:
    """The gradient of log P(predicted) after `fed`, times the embedding, summed over d_model (Denil et al. 2014).

    source: ids ending with end of sentence; fed: the ids from begin of sentence up to this step. The embedding is the
    scaled row, before positions are added. The model is left as it was.
    """
    with torch.inference_mode(False), torch.enable_grad():
        ids = [torch.tensor([list(side)], device=model.device) for side in (source, fed)]
        embedded = [
            (table.weight.detach().clone()[side] * table.scale).requires_grad_()
            for table, side in zip((model.source_embedding, model.target_embedding), ids, strict=True)
        ]
        log_probability = _last_log_probabilities(model, *embedded, None)[0, predicted]
        gradients = torch.autograd.grad(log_probability, embedded)
    parts = [(grad * x)[0].sum(dim=-1).detach() for grad, x in zip(gradients, embedded, strict=True)]
    return Attribution(*(read_only(part.cpu().numpy()) for part in parts), log_probability.item())


def leave_one_out(model: Transformer, source: Sequence[int], fed: Sequence[int], predicted: int) -> Attribution:
    """How much log P(predicted) falls when one token may not be read by any other, for each token in turn.

    A source token is masked as padding is, in the encoder and in cross-attention; a fed one in the decoder's
    self-attention. It keeps its place, so that all other positions stay. The token that is fed last and a source of a
    single token cannot be left out: they get NaN.
    """
    left = [leave_out(model, source, fed, predicted, part) for part in parts_to_leave_out(len(source), len(fed))]
    return together(left, len(source))


def parts_to_leave_out(source: int, fed: int) -> list[range]:
    """The places of `source` tokens, then of `fed` ones, cut into parts that one pass of the model can take."""
    places = source + fed
    return [range(first, min(first + PLACES_AT_ONCE, places)) for first in range(0, places, PLACES_AT_ONCE)]


@torch.inference_mode()
def leave_out(
    model: Transformer, source: Sequence[int], fed: Sequence[int], predicted: int, places: Sequence[int]
) -> LeftOut:
    """`leave_one_out` for some of the places: those of the source count from 0, those of the prefix go on from there.

    Raises ValueError for a place that is not there.
    """
    if not all(0 <= place < len(source) + len(fed) for place in places):
        raise ValueError(f"places must be in 0 to {len(source) + len(fed) - 1}, got {list(places)}")
    ids = [torch.tensor([list(side)], device=model.device) for side in (source, fed)]
    embedded = [
        table(side).expand(1 + len(places), -1, -1)
        for table, side in zip((model.source_embedding, model.target_embedding), ids, strict=True)
    ]
    # Row 0 is the sentence as it is, each other one lacks a token.
    source_open = torch.ones(1 + len(places), 1, 1, len(source), dtype=torch.bool, device=model.device)
    target_open = causal_mask(len(fed), model.device).repeat(1 + len(places), 1, 1, 1)
    for row, place in enumerate(places, start=1):
        if place < len(source):
            source_open[row, ..., place] = len(source) == 1  # a row must keep a key
        else:
            target_open[row, 0, place - len(source) + 1 :, place - len(source)] = False  # its own row keeps it
    found = _last_log_probabilities(model, *embedded, source_open, target_open)[:, predicted]
    drops = (found[0] - found[1:]).cpu().numpy()
    alone = [place == len(source) + len(fed) - 1 or (len(source) == 1 and place == 0) for place in places]
    drops[alone] = np.nan
    return LeftOut(read_only(drops), float(found[0]))


def together(parts: Sequence[LeftOut], source: int) -> Attribution:
    """All the parts of a `leave_one_out`, in order, as one; `source` tells how many tokens the source has."""
    drops = read_only(np.concatenate([part.drops for part in parts]))
    return Attribution(drops[:source], drops[source:], parts[0].log_probability)


def _last_log_probabilities(
    model: Transformer, source: Tensor, fed: Tensor, source_open: Tensor | None, target_open: Tensor | None = None
) -> Tensor:
    """From embeddings [batch, length, d_model] to log-probabilities after the last fed token: [batch, vocab]."""
    x = model.positions(source)
    for layer in model.encoder:
        x = layer(x, source_open)
    memory = model.encoder_norm(x)
    x = model.positions(fed)
    mask = causal_mask(fed.shape[1], fed.device) if target_open is None else target_open
    for layer in model.decoder:
        x = layer(x, memory, mask, source_open)
    return model.generator(model.decoder_norm(x[:, -1])).log_softmax(dim=-1)


def rank_correlation(first: np.ndarray, second: np.ndarray) -> float:
    """Spearman's correlation of the ranks, ties at their mean rank; NaN pairs left out, NaN for fewer than three."""
    known = np.isfinite(first) & np.isfinite(second)
    if known.sum() < 3:
        return float("nan")
    ranks = [_ranks(np.asarray(values, dtype=np.float64)[known]) for values in (first, second)]
    centred = [rank - rank.mean() for rank in ranks]
    length = np.sqrt((centred[0] ** 2).sum() * (centred[1] ** 2).sum())
    return float((centred[0] * centred[1]).sum() / length) if length else float("nan")


def _ranks(values: np.ndarray) -> np.ndarray:
    order = values[:, None] > values[None, :]
    same = values[:, None] == values[None, :]
    return order.sum(axis=1) + (same.sum(axis=1) + 1) / 2


def handed_over(stages: Stages, parameters: BlockParameters) -> np.ndarray:
    """The Euclidean norm of weight times (value W_O of the head) for each pair: [batch, heads, queries, keys].

    A key with a large weight and a short vector hands over little (Kobayashi et al. 2020, eq. 5). The bias of W_O
    belongs to no key and is left out.
    """
    heads = stages.num_heads
    values = split_heads(np.asarray(stages.value, dtype=np.float64), heads)  # batch heads keys d_k
    rows = np.asarray(parameters.w_output, dtype=np.float64).reshape(heads, stages.d_k, -1)  # heads d_k d_model
    lengths = np.linalg.norm(values @ rows, axis=-1)  # batch heads keys
    return np.asarray(stages.weights, dtype=np.float64) * lengths[:, :, None, :]


def handed_over_together(stages: Stages, parameters: BlockParameters) -> np.ndarray:
    """The norm of what all heads together hand over for each pair: [batch, queries, keys].

    Vectors of several heads may cancel, so this is not the sum of the heads' norms.
    """
    heads = stages.num_heads
    values = split_heads(np.asarray(stages.value, dtype=np.float64), heads)
    rows = np.asarray(parameters.w_output, dtype=np.float64).reshape(heads, stages.d_k, -1)
    vectors = values @ rows  # batch heads keys d_model
    weights = np.asarray(stages.weights, dtype=np.float64)
    return np.linalg.norm(np.einsum("bhqk,bhkd->bqkd", weights, vectors), axis=-1)


def shares(lengths: np.ndarray) -> np.ndarray:
    """Each row over its sum, so that it can be held beside attention; a row of zeros stays 0: [..., queries, keys]."""
    totals = lengths.sum(axis=-1, keepdims=True)
    return np.divide(lengths, totals, out=np.zeros_like(lengths), where=totals > 0)
