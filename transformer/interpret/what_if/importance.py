"""Importance of each attention head: the loss of a translation's log-probability when that head alone is ablated.

Of one sentence: all heads at once, each in its own copy of the sentence, in one batch. Of a corpus: one pass per head
over batches of sentences (Michel et al. 2019, 3.2, with log-probability in the place of BLEU).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from ...arrays import read_only, to_array, to_float64, widened
from ...data.batching import Examples, Ids, pad
from ...data.frames import cell_columns, frame_of
from ...data.sums import add_up
from ...data.tokenizer import TextTokenizer
from ...decoding.sampling import forbid_specials, most_probable
from ...model.attention import causal_mask
from ...model.heads import Head
from ...model.names import AttentionKind, Stack
from ...model.transformer import Transformer
from ..activations import EncoderActivations, Request, record_decoder, record_encoder
from .intervention import Intervention, Mean, Uniform, Zero
from .running import Means, apply_interventions, apply_interventions_side_by_side, measure_means

if TYPE_CHECKING:
    import pandas

Ablate = type[Intervention]
ABLATIONS: dict[str, Ablate] = {each.name: each for each in (Zero, Mean, Uniform)}  # by name, on pages and in commands
_NOTHING = Request(keep=(), logits_to_keep=1)  # the logits are computed below, a few sentences at a time
_LOGITS_AT_ONCE = 2**21  # 8 MB: faster than more, and little memory with a large vocabulary


@dataclass(frozen=True, eq=False)
class HeadImportance:
    """Loss of log P without each head, in nats; a negative loss means that the translation became likelier. A first
    token that is forced (`ModelConfig.num_forced`) counts in no number: of one sentence it has 0 everywhere.

    encoder, decoder, cross: [layers, heads, target] for the tokens of one sentence, [layers, heads] for the mean over
    the tokens of a corpus. log_probabilities: with all heads, [target]; the mean of a corpus, []. turned: of one
    sentence, the heads of each kind without which some token of the target is no longer the most probable one, so that
    greedy decoding leaves this target, [layers, heads]; None of a corpus. Arrays are read-only.
    """

    encoder: np.ndarray
    decoder: np.ndarray
    cross: np.ndarray
    log_probabilities: np.ndarray
    turned: Mapping[str, np.ndarray] | None = None

    def of(self, kind: AttentionKind | str) -> np.ndarray:
        """Return the losses of a kind; raises ValueError for another."""
        losses: np.ndarray = getattr(self, AttentionKind(kind))
        return losses

    def total(self, kind: AttentionKind | str) -> np.ndarray:
        """Return a kind's losses of log P of the whole translation, or of a corpus's mean token: [layers, heads]."""
        losses = self.of(kind)
        return losses.sum(axis=-1) if losses.ndim == 3 else losses

    @property
    def shapes(self) -> dict[AttentionKind, tuple[int, int]]:
        """Return the numbers of layers and heads of each kind."""
        shapes = {kind: self.of(kind).shape for kind in AttentionKind}
        return {kind: (shape[0], shape[1]) for kind, shape in shapes.items()}

    def to_frame(self) -> "pandas.DataFrame":
        """List the losses, in nats: kind, layer, head, of one sentence step, and loss; all count from 0."""
        axes = ("layer", "head", "step")[: self.encoder.ndim]
        return frame_of("kind", {kind: cell_columns(axes, loss=self.of(kind)) for kind in AttentionKind})

    def ranked(self) -> list[tuple[Head, float]]:
        """Return every head with its total loss, the largest first."""
        losses = ((kind, *each) for kind in AttentionKind for each in np.ndenumerate(self.total(kind)))
        return sorted(((Head(kind, *head), float(loss)) for kind, head, loss in losses), key=lambda each: -each[1])


def every_head(model: Transformer, kinds: Iterable[AttentionKind] = AttentionKind) -> list[Head]:
    """List the heads of some kinds of attention, layer by layer."""
    return [
        Head(kind, layer, head)
        for kind in kinds
        for layer, head in product(range(len(getattr(model, kind.stack))), range(model.config.num_heads))
    ]


def head_importance(
    model: Transformer, source: Ids, target: Ids, ablate: Ablate = Zero, means: Means | None = None
) -> HeadImportance:
    """Measure the loss of each token of a translation, ids such as `Hypothesis.ids`, without each head."""
    return joined(model, [head_losses(model, source, target, every_head(model), ablate, means)])


@dataclass(frozen=True, eq=False)
class HeadLosses:
    """Loss of each token of a translation without each of some heads, see `HeadImportance`: losses [heads, target],
    turned [heads], log_probabilities [target].
    """

    heads: Sequence[Head]
    losses: np.ndarray
    turned: np.ndarray
    log_probabilities: np.ndarray

    def default_head(self) -> Head:
        """Return the head of the greatest loss: of those that turn the translation, and else of all."""
        totals = self.losses.sum(axis=1)
        return self.heads[max(range(len(totals)), key=lambda row: (self.turned[row], totals[row]))]

    def probabilities(self, head: Head) -> np.ndarray:
        """Return the probability of each token without a head: [target], 1 for a forced one."""
        return np.asarray(np.exp(self.log_probabilities - self.losses[self.heads.index(head)]))


@torch.inference_mode()
def head_losses(
    model: Transformer,
    source: Ids,
    target: Ids,
    heads: Sequence[Head],
    ablate: Ablate = Zero,
    means: Means | None = None,
) -> HeadLosses:
    """Measure the loss of each token without each of some heads, in one batch that grows from layer to layer.

    Below its own layer a head changes nothing, so its copy of the sentence begins there. source: ids ending with end of
    sentence; target: ids without begin of sentence. Raises ValueError for a model in training mode.
    """
    if model.training:
        raise ValueError("head importance expects a model in eval mode, got one in training mode")
    by_layer = sorted(heads, key=lambda head: head.layer)
    of_encoder = [head for head in by_layer if head.kind == AttentionKind.ENCODER]
    of_decoder = [head for head in by_layer if head.kind != AttentionKind.ENCODER]
    copies = [*of_encoder, *of_decoder]
    sources = torch.tensor([source], device=model.device)
    following = torch.tensor([target], device=model.device)
    fed = torch.tensor([[model.config.begin_id, *target[:-1]]], device=model.device)
    mask = causal_mask(fed.shape[1], model.device)

    with apply_interventions_side_by_side(model, [(), *([ablate.of(head)] for head in copies)], means):
        memory, bias = model.encoder_input(sources), model.score_bias(Stack.ENCODER, len(source))
        for number, layer in enumerate(model.encoder):
            memory = layer(_with_copies(memory, of_encoder, number), None, bias)
        memory = model.encoder_norm(memory)
        memory = torch.cat([memory, memory[:1].expand(len(of_decoder), -1, -1)])

        bias = model.score_bias(Stack.DECODER, fed.shape[1])
        hidden = model.decoder_input(fed).expand(1 + len(of_encoder), -1, -1)
        for number, layer in enumerate(model.decoder):
            hidden = _with_copies(hidden, of_decoder, number)
            hidden = layer(hidden, memory[: len(hidden)], mask, None, bias)
        hidden = model.decoder_norm(hidden)

    forced = model.config.num_forced
    scored = [
        ((_most_probable(logits, model) != ids).any(dim=-1), _log_probabilities(logits, ids))
        for logits, ids in _logits(model, hidden[:, forced:], following[:, forced:].expand(len(hidden), -1))
    ]
    turned, log_p = (to_array(torch.cat(parts)) for parts in zip(*scored, strict=True))
    log_p = np.pad(log_p, ((0, 0), (forced, 0)))
    row_of = {head: row for row, head in enumerate(copies, start=1)}
    rows = [row_of[head] for head in heads]
    losses = log_p[:1].astype(np.float64) - log_p[rows]
    return HeadLosses(tuple(heads), read_only(losses), read_only(turned[rows]), read_only(log_p[0]))


def joined(model: Transformer, parts: Sequence[HeadLosses]) -> HeadImportance:
    """Join the losses of parts that have each head once."""
    row_of = {head: row for row, head in enumerate(head for part in parts for head in part.heads)}
    rows = [row_of[head] for head in every_head(model)]
    losses = np.concatenate([part.losses for part in parts])[rows]
    turned = MappingProxyType(_by_kind(model, np.concatenate([part.turned for part in parts])[rows]))
    return HeadImportance(**_by_kind(model, losses), log_probabilities=parts[0].log_probabilities, turned=turned)


def _with_copies(x: Tensor, heads: Iterable[Head], layer: int) -> Tensor:
    """Put the unchanged sentence, a batch's first, once behind it for each of the heads in this layer."""
    return torch.cat([x, x[:1].expand(sum(head.layer == layer for head in heads), -1, -1)])


def _by_kind(model: Transformer, losses: np.ndarray) -> dict[str, np.ndarray]:
    """Split losses of all heads, [heads of all kinds, ...], into one array per kind: [layers, heads, ...]."""
    counts = [len(every_head(model, [kind])) for kind in AttentionKind]
    parts = np.split(losses, np.cumsum(counts)[:-1])
    shape = (-1, model.config.num_heads, *losses.shape[1:])
    return {kind.value: read_only(part.reshape(shape)) for kind, part in zip(AttentionKind, parts, strict=True)}


@torch.inference_mode()
def target_log_probabilities(model: Transformer, hidden: Tensor, target: Tensor) -> Tensor:
    """Compute log P of each target id, [batch, target], from the decoder's vectors, [batch, target, d_model].

    A few sentences at a time, so that the logits of all are never there at once.
    """
    return torch.cat([_log_probabilities(logits, ids) for logits, ids in _logits(model, hidden, target)])


def _logits(model: Transformer, hidden: Tensor, target: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield the logits of a few sentences at a time, with their targets."""
    at_once = max(1, _LOGITS_AT_ONCE // (hidden.shape[1] * model.config.output_size))
    for some, ids in zip(torch.split(hidden, at_once), torch.split(target, at_once), strict=True):
        yield widened(model.output_projection(some)), ids


def _log_probabilities(logits: Tensor, ids: Tensor) -> Tensor:
    """Compute log P of the ids; the logits are overwritten, since room for as many again would take longer."""
    peak, chosen = logits.amax(dim=-1, keepdim=True), logits.gather(-1, ids[..., None])
    return (chosen - peak - logits.sub_(peak).exp_().sum(dim=-1, keepdim=True).log_())[..., 0]


def _most_probable(logits: Tensor, model: Transformer) -> Tensor:
    """Return the ids that greedy decoding chooses: [..., vocab] -> [...]."""
    never = list(model.config.never_chosen)
    scores = logits[..., never]
    best = most_probable(forbid_specials(logits, model).flatten(0, -2)).view(logits.shape[:-1])
    logits[..., never] = scores
    return best


@dataclass(frozen=True, eq=False)
class ImportanceSums:
    """Losses of the tokens of a corpus without each of `heads`, added up, so that parts of a corpus can be pooled.

    sums: [heads + 1, 4], float64, in nats, the last row of log P itself, with all heads: over all scored tokens the
    loss of log P and its square; over all sentences the square of a sentence's loss, and its loss times its tokens.
    squared_tokens: over the sentences the square of their tokens.
    """

    heads: tuple[Head, ...]
    sums: np.ndarray
    tokens: int
    squared_tokens: int
    sentences: int

    def __add__(self, other: "ImportanceSums") -> "ImportanceSums":
        """Pool two parts of a corpus; raises ValueError where their heads are not the same."""
        if self.heads != other.heads:
            raise ValueError("sums over the same heads expected")
        counts = (getattr(self, name) + getattr(other, name) for name in ("tokens", "squared_tokens", "sentences"))
        return ImportanceSums(self.heads, read_only(self.sums + other.sums), *counts)

    @property
    def means(self) -> np.ndarray:
        """Return the mean loss of a token without each head, and last its log P, in nats: [heads + 1]."""
        return self.sums[:, 0] / self.tokens

    @property
    def deviations(self) -> np.ndarray:
        """Return the standard deviation over the tokens of each of the means: [heads + 1]."""
        return np.sqrt(np.maximum(self.sums[:, 1] / self.tokens - self.means**2, 0))

    @property
    def standard_errors(self) -> np.ndarray:
        """Return the standard error of each of the means, [heads + 1].

        The sentences were drawn, not the tokens, and a mean is a ratio of two sums over them (Cochran 1977, 6.4).
        """
        _, _, squares, crossed = self.sums.T
        spread = squares - 2 * self.means * crossed + self.means**2 * self.squared_tokens
        return np.sqrt(np.maximum(spread, 0)) / self.tokens

    def by_kind(self, values: np.ndarray) -> dict[AttentionKind, np.ndarray]:
        """Return values of each head, [heads + 1], as [layers, heads] per kind."""
        tables = {}
        for kind in AttentionKind:
            rows = [row for row, head in enumerate(self.heads) if head.kind == kind]
            tables[kind] = read_only(values[rows].reshape(1 + self.heads[rows[-1]].layer, -1))
        return tables

    def importance(self) -> HeadImportance:
        """Return the means as losses by kind, layer and head."""
        losses = {kind.value: table for kind, table in self.by_kind(self.means).items()}
        return HeadImportance(**losses, log_probabilities=read_only(self.means[-1:].reshape(())))  # type: ignore[arg-type]


def measure_importance(
    model: Transformer,
    examples: Examples,
    ablation: str = Zero.name,
    means: Means | None = None,
    progress: Callable[[int], None] | None = None,
) -> ImportanceSums:
    """Add up the loss of each scored target token's log P without each head, targets teacher-forced.

    ablation: "zero", "mean" or "uniform"; means: for "mean", else those over the same examples; `progress` is called
    with the number of sentences done. Raises ValueError without examples or for another ablation.
    """
    if ablation not in ABLATIONS:
        raise ValueError(f"ablation must be one of {', '.join(ABLATIONS)}, got {ablation!r}")
    if ablation == Mean.name and means is None:
        means = measure_means(model, examples)
    return add_up(partial(sum_losses, model, None, ablation=ablation, means=means), examples, progress)


def sum_losses(
    model: Transformer,
    _tokenizer: TextTokenizer | None,
    examples: Examples,
    *,
    ablation: str = Zero.name,
    means: Means | None = None,
) -> ImportanceSums:
    """Add up over a batch the loss of each scored token's log P without each head, one pass per head."""
    sources, fed = [each.source for each in examples], [each.target[:-1] for each in examples]
    following = pad([each.target[1:] for each in examples], model.config.pad_id, model.device)
    lengths = torch.tensor([len(row) for row in fed], device=model.device)
    steps = torch.arange(following.shape[1], device=model.device)
    scored = (steps >= model.config.num_forced) & (steps < lengths[:, None])

    def log_p(encoder: EncoderActivations) -> np.ndarray:
        seen = record_decoder(model, encoder, fed, _NOTHING)
        return to_float64(target_log_probabilities(model, seen.hidden, following)[scored])

    encoder, heads = record_encoder(model, sources, _NOTHING), every_head(model)
    whole, losses = log_p(encoder), []
    for head in heads:
        with apply_interventions(model, [ABLATIONS[ablation].of(head)], means):
            changed = record_encoder(model, sources, _NOTHING) if head.kind == AttentionKind.ENCODER else encoder
            losses.append(whole - log_p(changed))
    tokens = to_array(scored.sum(dim=-1))
    sums = np.array([_totals(each, tokens) for each in (*losses, whole)])
    return ImportanceSums(tuple(heads), read_only(sums), int(tokens.sum()), int((tokens**2).sum()), len(fed))


def _totals(values: np.ndarray, tokens: np.ndarray) -> list[float]:
    """Return a row of `ImportanceSums.sums`.

    values: of the tokens of one sentence after the other, [all tokens]; tokens: their number per sentence, [sentences].
    """
    of_sentences = np.bincount(np.repeat(np.arange(len(tokens)), tokens), weights=values, minlength=len(tokens))
    return [values.sum(), (values**2).sum(), (of_sentences**2).sum(), (of_sentences * tokens).sum()]
