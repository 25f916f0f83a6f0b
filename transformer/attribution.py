"""What a predicted token depends on, by two other means than attention: gradient times input, and leaving tokens out.

Neither is the truth. The gradient looks at an infinitely small change, leaving out at one the model has never seen.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from .masks import causal_mask
from .model import Transformer
from .trace import read_only


@dataclass(frozen=True, eq=False)
class Attribution:
    """One value a token of the source and of the fed prefix, positive where it speaks for the predicted token.

    source: [source]; prefix: [step + 1], the tokens fed up to this step. `log_probability` is the predicted token's.
    """

    source: np.ndarray
    prefix: np.ndarray
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


@torch.inference_mode()
def leave_one_out(model: Transformer, source: Sequence[int], fed: Sequence[int], predicted: int) -> Attribution:
    """How much log P(predicted) falls when one token may not be read by any other, for each token in turn.

    A source token is masked as padding is, in the encoder and in cross-attention; a fed one in the decoder's
    self-attention. It keeps its place, so that all other positions stay. The token that is fed last and a source of a
    single token cannot be left out: they get NaN.
    """
    source_ids = torch.tensor([list(source)], device=model.device)
    fed_ids = torch.tensor([list(fed)], device=model.device)
    own = _log_probability(model, source_ids, fed_ids, None, None, predicted)[0]
    source_open = ~torch.eye(len(source), dtype=torch.bool, device=model.device)[:, None, None, :]
    without = _log_probability(model, source_ids, fed_ids, source_open, None, predicted)
    source_drops = own - without if len(source) > 1 else torch.full_like(without, float("nan"))
    drops = torch.full((len(fed),), float("nan"), device=model.device)
    if len(fed) > 1:
        rows = len(fed) - 1
        causal = causal_mask(len(fed), model.device)
        open_keys = ~torch.eye(len(fed), dtype=torch.bool, device=model.device)[:rows, None, None, :]
        own_key = torch.eye(len(fed), dtype=torch.bool, device=model.device)  # its own row must keep a key
        target_open = causal & (open_keys | own_key)
        drops[:rows] = own - _log_probability(model, source_ids, fed_ids, None, target_open, predicted)
    return Attribution(*(read_only(part.cpu().numpy()) for part in (source_drops, drops)), float(own))


def _log_probability(
    model: Transformer, source: Tensor, fed: Tensor, source_open: Tensor | None, target_open: Tensor | None, token: int
) -> Tensor:
    """log P(token) after the last fed one for every mask: [masks]; one without any mask."""
    count = (
        1 if source_open is None and target_open is None else len(source_open if target_open is None else target_open)
    )
    embedded = [
        table(ids).expand(count, -1, -1)
        for table, ids in ((model.source_embedding, source), (model.target_embedding, fed))
    ]
    return _last_log_probabilities(model, *embedded, source_open, target_open)[:, token]


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
