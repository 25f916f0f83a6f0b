"""Runs under interventions: within a block, this thread's passes, cached decoding among them, are changed.

A decoder computes one row at a time while it decodes and all rows at once when its output is replayed; an intervention
on row 4 concerns row 4 in both. The rows of self-attention are the last ones of its keys. Those of cross-attention are
the rows that the same layer's self-attention has just computed.
"""

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from ...data.batching import Example, Examples, epoch_batches
from ...errors import InterventionError
from ...model.names import AttentionKind
from ...model.transformer import Transformer
from ..activations import Call, Hook, Inputs, hooks_installed, record, unmasked_of, weights_of
from .intervention import Ablation, Intervention, Mean, Rewriting, parse

_TOKENS_A_BATCH = 2048


@dataclass(frozen=True, eq=False)
class HeadMeans:
    """Each head's output, before W_O, averaged over all tokens of a corpus: [layers, heads, d_k] a kind."""

    encoder: Tensor
    decoder: Tensor
    cross: Tensor

    def of(self, kind: AttentionKind | str) -> Tensor:
        """Return the means of a kind; raises ValueError for another."""
        means: Tensor = getattr(self, AttentionKind(kind))
        return means


def measure_means(model: Transformer, examples: Examples) -> HeadMeans:
    """Average over sentence pairs, teacher-forced, without padding and forced tokens; ValueError without a pair."""
    if not examples:
        raise ValueError("at least one sentence pair expected")
    sums = {kind: torch.zeros(()) for kind in AttentionKind}
    counts = dict.fromkeys(AttentionKind, 0)
    for batch in epoch_batches(examples, _TOKENS_A_BATCH, 0.0, model.config.max_length, seed=0):
        seen = record(model, [each.source for each in batch], [each.target[:-1] for each in batch])
        for kind in AttentionKind:
            # layers batch heads queries d_k
            outputs = torch.stack([core.output.cpu() for core in seen.attention(kind)])
            rows = [_counted_rows(model, kind, each) for each in batch]
            counted = torch.tensor([[row in some for row in range(outputs.shape[3])] for some in rows])
            sums[kind] = sums[kind] + torch.einsum("lbhqd,bq->lhd", outputs.double(), counted.double())
            counts[kind] += int(counted.sum())
    return HeadMeans(**{kind.value: (sums[kind] / counts[kind]).float() for kind in AttentionKind})


def _counted_rows(model: Transformer, kind: AttentionKind, example: Example) -> range:
    """Return the rows that count: tokens of the source, or steps of the target whose token is not forced."""
    if kind == AttentionKind.ENCODER:
        return range(len(example.source))
    return range(model.config.num_forced, len(example.target) - 1)


Asked = Sequence[Intervention | str] | str  # interventions, or their texts
_BySentence = Mapping[int | None, Sequence[Intervention]]  # None: every sentence of the batch


def read_all(interventions: Asked) -> tuple[Intervention, ...]:
    """Return the interventions, those given as texts parsed; one text alone is one. Raises InterventionError."""
    interventions = (interventions,) if isinstance(interventions, str) else interventions
    return tuple(parse(each) if isinstance(each, str) else each for each in interventions)


def apply_interventions(
    model: Transformer, interventions: Asked, means: HeadMeans | None = None
) -> contextlib.AbstractContextManager[None]:
    """Run this thread's passes within the block under these interventions; without any, nothing is touched.

    Where several concern one head, its weights are rewritten in their order, then its output is replaced. means: what
    mean ablation puts in place of the outputs (see `measure_means`). A head and row that no intervention changes keeps
    the bits of a run without any. Raises InterventionError for a layer or head that is not there, and for mean ablation
    without means.
    """
    return hooks_installed(_hooks(model, {None: read_all(interventions)}, means))


def apply_interventions_side_by_side(
    model: Transformer, sentences: Sequence[Asked], means: HeadMeans | None = None
) -> contextlib.AbstractContextManager[None]:
    """Run each sentence of a recorded batch under its interventions; decoding would drop and reorder sentences."""
    return hooks_installed(_hooks(model, {number: read_all(asked) for number, asked in enumerate(sentences)}, means))


def rewritten_weights(core: Call, interventions: Asked, kind: AttentionKind | str, layer: int) -> Tensor:
    """Return the weights of a recorded attention after what rewrites them: [batch, heads, queries, keys]."""
    return _rewrite(core, _concerning(read_all(interventions), AttentionKind(kind), layer), 0)[1]


class _Rows:
    """Where the rows begin that a layer's self-attention has just computed."""

    first = 0

    def note(self, _core: nn.Module, inputs: Inputs, _output: Tensor) -> None:
        self.first = _first_row(*inputs[:2])


@dataclass(frozen=True, eq=False)
class _Change:
    """The hook on one block's attention, with the interventions that concern it."""

    kind: AttentionKind
    by_sentence: _BySentence
    rows: _Rows
    mean: Tensor | None  # heads d_k

    def __call__(self, _core: nn.Module, inputs: Inputs, output: Tensor) -> Tensor:
        """Return the changed output: [batch, heads, queries, d_k]."""
        if None in self.by_sentence:
            return self._changed(self.by_sentence[None], Call(inputs, output))
        output = output.clone()
        for number, interventions in self.by_sentence.items():
            output[number] = self._changed(interventions, Call(inputs, output).sentence(number))[0]  # type: ignore[arg-type]
        return output

    def _changed(self, interventions: Sequence[Intervention], core: Call) -> Tensor:
        query, key, value, *_ = core.inputs
        first, output = self.rows.first if self.kind == AttentionKind.CROSS else _first_row(query, key), core.output
        if any(isinstance(each, Rewriting) for each in interventions):
            before, weights = _rewrite(core, interventions, first)
            rewritten = (weights != before).any(dim=-1, keepdim=True)  # the others keep the kernel's own bits
            output = torch.where(rewritten, weights @ value, output)
        for each in interventions:
            if isinstance(each, Ablation):
                cells = each.cells(output.shape[1], first, output.shape[2], output.device)[..., None]
                output = torch.where(cells, self.mean[:, None] if isinstance(each, Mean) else 0.0, output)  # type: ignore[index]
        return output


def _hooks(model: Transformer, by_sentence: _BySentence, means: HeadMeans | None) -> list[tuple[nn.Module, Hook]]:
    for each in (each for interventions in by_sentence.values() for each in interventions):
        _check(model, each, means)
    hooks: list[tuple[nn.Module, Hook]] = []
    for kind in AttentionKind:
        for layer, block in enumerate(getattr(model, kind.stack)):
            concerning = {number: _concerning(some, kind, layer) for number, some in by_sentence.items()}
            if any(concerning.values()):
                concerning = {number: some for number, some in concerning.items() if some}
                rows = _Rows()
                if kind == AttentionKind.CROSS:
                    hooks.append((block.self_attention.core, rows.note))
                mean = None if means is None else means.of(kind)[layer].to(model.device)
                hooks.append((getattr(block, kind.sublayer).core, _Change(kind, concerning, rows, mean)))
    return hooks


def _concerning(interventions: Iterable[Intervention], kind: AttentionKind, layer: int) -> list[Intervention]:
    return [each for each in interventions if each.heads.holds(kind, layer)]


def _first_row(query: Tensor, key: Tensor) -> int:
    """Return where the newest tokens' rows begin, the last of all so far."""
    return key.shape[2] - query.shape[2]


def _rewrite(core: Call, interventions: Iterable[Intervention], first: int) -> tuple[Tensor, Tensor]:
    """Return the weights before and after what rewrites them: [batch, heads, queries, keys] twice."""
    before = after = weights_of(core)
    rewritings = [each for each in interventions if isinstance(each, Rewriting)]
    if not rewritings:
        return before, after
    unmasked = unmasked_of(core)[:, None]
    for each in rewritings:
        cells = each.cells(before.shape[1], first, before.shape[2], before.device)
        after = torch.where(cells[..., None], each.rewritten(after, unmasked), after)
    return before, after


def _check(model: Transformer, each: Intervention, means: HeadMeans | None) -> None:
    heads, layers = each.heads, len(getattr(model, each.heads.kind.stack))
    for name, number, count in (("layer", heads.layer, layers), ("head", heads.head, model.config.num_heads)):
        if number is not None and number >= count:
            raise InterventionError(f"{each}: the {heads.kind} attention has {count} {name}s, counted from 0.")
    if isinstance(each, Mean) and means is None:
        raise InterventionError(f"{each}: mean ablation needs the heads' mean outputs, which were not measured.")
