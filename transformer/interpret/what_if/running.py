"""Runs under interventions: within a block, this thread's passes, cached decoding among them, are changed.

A decoder computes one row at a time while it decodes and all rows at once when its output is replayed; an intervention
on row 4 concerns row 4 in both.
"""

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from torch import Tensor, nn

from ...arrays import to_array
from ...data.batching import Examples
from ...data.sums import add_up
from ...data.tokenizer import TextTokenizer
from ...errors import InterventionError
from ...model.names import HEADS, UNITS, AttentionKind, Part, Stack
from ...model.transformer import Transformer
from ..activations import Call, Hook, Inputs, Request, hooks_installed, record, unmasked_of, weights_of
from .custom import Patch
from .intervention import Ablation, Intervention, Mean, Unrepeatable, parse


@dataclass(frozen=True, eq=False)
class Means:
    """Averages over all tokens of a corpus, for mean ablation: each head's output before W_O, [layers, heads, d_k] a
    kind of attention, and each hidden unit of the feed-forwards after its activation, [layers, d_ff] a stack.
    """

    encoder: Tensor
    decoder: Tensor
    cross: Tensor
    encoder_feed_forward: Tensor | None = None
    decoder_feed_forward: Tensor | None = None

    def of(self, part: Part | AttentionKind | str) -> Tensor | None:
        """Return the means of a part, None where they were not measured; raises ValueError for another part."""
        return getattr(self, _field(Part(part)), None)


def _field(part: Part) -> str:
    return part.replace(".", "_")


@dataclass(frozen=True, eq=False)
class MeanSums:
    """Sums of the vectors that `Means` averages, float64, [layers, ...] per part, and the tokens of each stack."""

    sums: Mapping[Part, np.ndarray]
    tokens: Mapping[Stack, int]
    dtype: torch.dtype  # of the model

    def __add__(self, other: "MeanSums") -> "MeanSums":
        """Add the sums over other sentences."""
        sums = {part: each + other.sums[part] for part, each in self.sums.items()}
        tokens = {stack: count + other.tokens[stack] for stack, count in self.tokens.items()}
        return MeanSums(sums, tokens, self.dtype)

    def means(self) -> Means:
        """Return the means over the tokens, in the model's type."""
        means = {part: torch.from_numpy(total / self.tokens[part.stack]) for part, total in self.sums.items()}
        return Means(**{_field(part): mean.to(self.dtype) for part, mean in means.items()})


def sum_vectors(model: Transformer, _tokenizer: TextTokenizer | None, examples: Examples) -> MeanSums:
    """Add up the vectors of a batch, teacher-forced, without padding and forced tokens."""
    sources, fed = [each.source for each in examples], [each.target[:-1] for each in examples]
    rows = {
        Stack.ENCODER: _rows_from(0, list(map(len, sources)), model.device),
        Stack.DECODER: _rows_from(model.config.num_forced, list(map(len, fed)), model.device),
    }
    totals: dict[Part, list[np.ndarray]] = {part: [] for part in (*HEADS, *UNITS)}  # of the layers, which run in order
    hooks: list[tuple[nn.Module, Hook]] = [
        (model.get_submodule(part.module(layer)), partial(_add, totals[part], part, rows[part.stack]))
        for part in totals
        for layer in range(len(getattr(model, part.stack)))
    ]
    with hooks_installed(hooks):
        record(model, sources, fed, Request(keep=(), logits_to_keep=1))
    sums = {part: np.stack(each).astype(np.float64) for part, each in totals.items()}
    return MeanSums(sums, {stack: int(each.sum()) for stack, each in rows.items()}, model.dtype)


def measure_means(model: Transformer, examples: Examples) -> Means:
    """Average over sentence pairs, teacher-forced, without padding and forced tokens; ValueError without a pair."""
    return add_up(partial(sum_vectors, model, None), examples).means()


def _rows_from(first: int, lengths: Sequence[int], device: torch.device) -> Tensor:
    """Mark each sentence's rows from `first` on, without its padding: [batch, longest]."""
    rows = torch.arange(max(lengths), device=device)
    return (rows >= first) & (rows < torch.tensor(lengths, device=device)[:, None])


def _add(totals: list[np.ndarray], part: Part, rows: Tensor, _module: nn.Module, _: Inputs, output: Tensor) -> None:
    """Add up the vectors of a pass in these rows: of [batch, heads, rows, d_k] or [batch, rows, units]."""
    vectors = (output.transpose(1, 2) if part.is_heads else output)[rows]
    totals.append(to_array(vectors.sum(dim=0, dtype=torch.float64)))


Interventions = Sequence[Intervention | str] | str  # as objects or texts
_BySentence = Mapping[int | None, Sequence[Intervention]]  # None: all sentences of the batch


def read_all(interventions: Interventions) -> tuple[Intervention, ...]:
    """Return the interventions, those given as texts parsed; one text alone is one. Raises InterventionError."""
    interventions = (interventions,) if isinstance(interventions, str) else interventions
    return tuple(parse(each) if isinstance(each, str) else each for each in interventions)


def apply_interventions(
    model: Transformer, interventions: Interventions, means: Means | None = None
) -> contextlib.AbstractContextManager[None]:
    """Run this thread's passes within the block under these interventions; without any, nothing is touched.

    Where several concern one head, its weights are rewritten in their order, then its output is replaced. means: of
    `measure_means`, for mean ablation. A head and row that no intervention changes keeps
    the bits of a run without any. Raises InterventionError for a layer, head or unit that is not there, for vectors of
    another width, and for mean ablation without means.
    """
    return hooks_installed(_hooks(model, {None: read_all(interventions)}, means))


def apply_interventions_side_by_side(
    model: Transformer, sentences: Sequence[Interventions], means: Means | None = None
) -> contextlib.AbstractContextManager[None]:
    """Run each sentence of a recorded batch under its interventions; decoding would drop and reorder sentences."""
    return hooks_installed(
        _hooks(model, {number: read_all(interventions) for number, interventions in enumerate(sentences)}, means)
    )


def rewritten_weights(core: Call, interventions: Interventions, kind: AttentionKind | str, layer: int) -> Tensor:
    """Return the weights of a recorded attention after all rewritings: [batch, heads, queries, keys]."""
    return _rewrite(core, _concerning(read_all(interventions), Part(kind), layer), 0)[1]


class _Rows:
    """First row that the decoder computes: the position of the first token of its input."""

    first = 0

    def note(self, _input: nn.Module, inputs: Inputs, _output: Tensor) -> None:
        self.first = inputs[1] if len(inputs) > 1 else 0


@dataclass(frozen=True, eq=False)
class _Change:
    """The hook on one module, with the interventions that concern it."""

    by_sentence: _BySentence
    rows: _Rows
    mean: Tensor | None  # [heads, d_k] or [units]

    def __call__(self, _module: nn.Module, inputs: Inputs, output: Tensor) -> Tensor:
        """Return the changed output, of the same shape."""
        if None in self.by_sentence:
            return self._changed(self.by_sentence[None], Call(inputs, output))
        output = output.clone()
        for number, interventions in self.by_sentence.items():
            output[number] = self._changed(interventions, Call(inputs, output).sentence(number))[0]  # type: ignore[arg-type]
        return output

    def _changed(self, interventions: Sequence[Intervention], call: Call) -> Tensor:
        output = call.output
        if any(each.rewrites for each in interventions):
            before, weights = _rewrite(call, interventions, self.rows.first)
            rewritten = (weights != before).any(dim=-1, keepdim=True)  # the others keep the kernel's own bits
            output = torch.where(rewritten, weights.to(output.dtype) @ call.inputs[2], output)
        for each in interventions:
            if not each.rewrites:
                output = each.replaced(output, self.rows.first, self.mean)
        return output


def _hooks(model: Transformer, by_sentence: _BySentence, means: Means | None) -> list[tuple[nn.Module, Hook]]:
    requested = [each for interventions in by_sentence.values() for each in interventions]
    for each in requested:
        _check(model, each, means)
    rows = {Stack.ENCODER: _Rows(), Stack.DECODER: _Rows()}  # of which the encoder's always begin at 0
    hooks: list[tuple[nn.Module, Hook]] = []
    if any(each.part.stack == Stack.DECODER for each in requested):
        hooks.append((model.decoder_input, rows[Stack.DECODER].note))
    for part in (part for part in Part if any(each.part == part for each in requested)):
        mean = None if means is None else means.of(part)
        for layer in range(_layers(model, part)):
            concerning = {number: _concerning(some, part, layer) for number, some in by_sentence.items()}
            concerning = {number: some for number, some in concerning.items() if some}
            if concerning:
                change = _Change(concerning, rows[part.stack], None if mean is None else mean[layer].to(model.device))
                hooks.append((model.get_submodule(part.module(layer)), change))
    return hooks


def _layers(model: Transformer, part: Part) -> int:
    return len(getattr(model, part.stack)) + part.is_stream


def _concerning(interventions: Iterable[Intervention], part: Part, layer: int) -> list[Intervention]:
    return [each for each in interventions if each.concerns(part, layer)]


def _rewrite(core: Call, interventions: Iterable[Intervention], first: int) -> tuple[Tensor, Tensor]:
    """Return the weights before and after all rewritings: [batch, heads, queries, keys] twice."""
    before = after = weights_of(core)
    rewritings = [each for each in interventions if each.rewrites]
    if not rewritings:
        return before, after
    unmasked = unmasked_of(core)[:, None]
    for each in rewritings:
        cells = each.cells(before.shape[1], first, before.shape[2], before.device)
        after = torch.where(cells[..., None], each.rewritten(after, unmasked), after)
    return before, after


def _check(model: Transformer, each: Intervention, means: Means | None) -> None:
    config, part = model.config, each.part
    unit = max(each.units) if isinstance(each, Ablation) and each.units else None
    for name, number, count in (
        ("layer", each.layer, _layers(model, part)),
        ("head", each.head, config.num_heads),
        ("unit", unit, config.d_ff),
    ):
        if number is not None and number >= count:
            module = f"the {part} attention" if part.is_heads else part
            raise InterventionError(f"{each}: {module} has {count} {name}s, counted from 0.")
    if isinstance(each, Unrepeatable):
        raise InterventionError(f"{each}: what it put there was not saved with the trace, so it cannot be run again.")
    if isinstance(each, Mean) and (means is None or means.of(part) is None):
        raise InterventionError(f"{each}: mean ablation needs the mean outputs, which were not measured.")
    width = config.d_k if part.is_heads else config.d_ff if part in UNITS else config.d_model
    if isinstance(each, Patch) and each.vectors.shape[-1] != width:
        raise InterventionError(f"{each}: vectors of {width} numbers expected, got {each.vectors.shape[-1]}.")
