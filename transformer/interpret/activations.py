"""One teacher-forced pass, recorded: a request names the modules whose calls are kept, and the outputs to change.

All other measures of this package read the `Activations` of such a pass:

    seen = record(model, [source_ids], [decoder_input_ids])
    seen.weights("cross")  # layers batch heads queries keys
"""

import contextlib
import fnmatch
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn

from ..arrays import to_array, widened
from ..data.batching import Ids, pad
from ..data.frames import cell_columns
from ..model.attention import attention_scores, attention_weights, causal_mask, padding_mask, target_mask
from ..model.fused_step import KeepingStep
from ..model.names import AttentionKind, Stack
from ..model.transformer import Transformer

if TYPE_CHECKING:
    import pandas

Inputs = tuple[Any, ...]  # a module's positional arguments
Hook = Callable[[nn.Module, Inputs, Tensor], Tensor | None]
Change = tuple[str, Callable[[Tensor], Tensor]]  # modules by name, and a function of their output

_registry = threading.Lock()  # PyTorch numbers its hooks without one


def modules_named(model: nn.Module, pattern: str) -> list[tuple[str, nn.Module]]:
    """Find modules by name, in the model's order; "*" is any text between two dots: "decoder.*.cross_attention".

    Raises ValueError where none has such a name. A module that has two names is found by the first.
    """
    modules = [("", model)]
    for part in pattern.split("."):
        modules = [
            (f"{name}.{child}".lstrip("."), inner)
            for name, module in modules
            for child, inner in module.named_children()
            if fnmatch.fnmatchcase(child, part)
        ]
    if not modules:
        raise ValueError(f"the model has no module named {pattern!r}")
    return modules


class _ThreadHook:
    """Hook that runs only in the thread that made it."""

    def __init__(self, hook: Hook) -> None:
        self.hook, self.thread = hook, threading.get_ident()

    def __call__(self, *call: Any) -> Tensor | None:
        return self.hook(*call) if threading.get_ident() == self.thread else None


@contextlib.contextmanager
def hooks_installed(hooks: Iterable[tuple[nn.Module, Hook]]) -> Iterator[None]:
    """Put each forward hook on its module for this thread alone, and take all away in the end.

    The model is shared by all users of a server: another thread's pass must neither be seen nor be changed.
    """
    handles = []
    try:
        for module, hook in hooks:
            with _registry:
                handles.append(module.register_forward_hook(_ThreadHook(hook)))
        yield
    finally:
        for handle in handles:
            with _registry:
                handle.remove()


# Modules to keep: query, key, value, mask, bias and scale of every attention; token embeddings without positions and
# with them, and the input of the first layers; and besides these each sub-layer and the residual connection around
# it. The bias of relative positions is the output of "encoder_relative" and "decoder_relative", too.
ATTENTION = tuple(f"{kind.block_name('*')}.core" for kind in AttentionKind)
EMBEDDINGS = ("*_input", "*_input.positions")
RESIDUAL_STREAM = (*EMBEDDINGS, "*.*.*_attention", "*.*.feed_forward", "*.*.*_residual")


@dataclass(frozen=True, eq=False)
class Request:
    """Modules that a pass keeps and outputs that it changes: by default every attention is kept and nothing changed.

    keep: names of modules (see `modules_named`) whose inputs and outputs are kept. change: names of modules, each with
    a function of the output; kept outputs are the changed ones. source_mask: [batch, 1, 1, source], target_mask:
    broadcastable to [batch, 1, target, target], True = may attend; None for the masks of the ids.
    logits_to_keep: number of last positions with logits, None for all. gradients: True for a pass that can be
    differentiated.
    """

    keep: tuple[str, ...] = ATTENTION
    change: tuple[Change, ...] = ()
    source_mask: Tensor | None = None
    target_mask: Tensor | None = None
    logits_to_keep: int | None = None
    gradients: bool = False


_EVERY_ATTENTION = Request()


@dataclass(frozen=True, eq=False)
class Call:
    """Inputs and output of a module."""

    inputs: Inputs
    output: Tensor

    def sentence(self, number: int) -> "Call":
        """Return the call with one sentence of its batch alone; a mask that holds for all of them stays."""
        batch, part = len(self.output), slice(number, number + 1)
        inputs = (x[part] if isinstance(x, Tensor) and x.dim() > 2 and len(x) == batch else x for x in self.inputs)
        return Call(tuple(inputs), self.output[part])


@dataclass(frozen=True, eq=False)
class EncoderActivations:
    """The encoder's half of a pass; `memory` [batch, source, d_model] may serve to decode before the other half."""

    memory: Tensor
    source_mask: Tensor | None
    calls: Mapping[str, tuple[Call, ...]]


@dataclass(frozen=True, eq=False)
class Activations:
    """Calls of each kept module by its name; logits [batch, target, vocab], memory [batch, source, d_model], and the
    decoder's last vectors, hidden [batch, target, d_model].
    """

    logits: Tensor
    memory: Tensor
    hidden: Tensor
    calls: Mapping[str, tuple[Call, ...]]

    def __repr__(self) -> str:
        sizes = f"logits {list(self.logits.shape)}, memory {list(self.memory.shape)}"
        return f"<Activations: {sizes}, {len(self.calls)} modules kept>"

    def sentence(self, number: int) -> "Activations":
        """Return the activations of one sentence of the batch, with its padding."""
        if len(self.logits) == 1:
            return self
        part = slice(number, number + 1)
        calls = {name: [call.sentence(number) for call in some] for name, some in self.calls.items()}
        return Activations(self.logits[part], self.memory[part], self.hidden[part], _frozen(calls))

    def call(self, name: str) -> Call:
        """Return the one call of a module; raises ValueError for a module that was not kept, or ran more than once."""
        if len(self.calls.get(name, ())) != 1:
            raise ValueError(f"one call of {name!r} expected, {len(self.calls.get(name, ()))} were kept")
        return self.calls[name][0]

    def attention(self, kind: AttentionKind | str) -> list[Call]:
        """Return the calls of a kind's attention, first layer first, with query, key, value, mask, bias and scale."""
        pattern = f"{AttentionKind(kind).block_name('*')}.core"
        return [self.call(name) for name in self.calls if fnmatch.fnmatchcase(name, pattern)]

    def weights(self, kind: AttentionKind | str) -> Tensor:
        """Compute the attention weights of a kind: [layers, batch, heads, queries, keys]."""
        return torch.stack([weights_of(core) for core in self.attention(kind)])


def weights_of(core: Call) -> Tensor:
    """Compute the weights, which the fused kernel never shows, from its queries, keys and mask, in float32 at least."""
    query, key, _, mask, bias, scale = core.inputs
    return attention_weights(widened(query), widened(key), mask, bias, scale)


def scores_of(core: Call) -> Tensor:
    """Compute the scores of an attention before its mask, with the bias of relative positions, if there are any.

    -> [batch, heads, queries, keys]
    """
    query, key, _, _, bias, scale = core.inputs
    return attention_scores(widened(query), widened(key), bias, scale)


def bias_of(core: Call) -> Tensor:
    """Return the bias of relative positions on the scores of an attention, 0 without: [heads, queries, keys]."""
    query, key, *_, bias, _ = core.inputs
    return query.new_zeros(query.shape[1], query.shape[2], key.shape[2]) if bias is None else bias[0]


def unmasked_of(core: Call) -> Tensor:
    """Return True where a query may attend, for all heads alike: [batch, queries, keys]."""
    query, key, _, mask, *_ = core.inputs
    unmasked: Tensor = torch.ones((), dtype=torch.bool, device=query.device) if mask is None else mask
    return unmasked.expand(query.shape[0], 1, query.shape[2], key.shape[2])[:, 0]


def record(
    model: Transformer, sources: Sequence[Ids], decoder_inputs: Sequence[Ids], request: Request = _EVERY_ATTENTION
) -> Activations:
    """Run one teacher-forced pass over a batch of sentences, its logits bit-identical to those of an unobserved pass.

    sources: ids ending with end of sentence; decoder_inputs: ids beginning with begin of sentence. Raises ValueError
    for a module that is not there, for a model in training mode, whose dropout would make each pass another, and for
    sentences without ids, with ids that the model does not have, or not as many of them as decoder inputs.
    """
    if len(sources) != len(decoder_inputs):
        raise ValueError(f"as many decoder inputs as sources expected, got {len(decoder_inputs)} for {len(sources)}")
    return record_decoder(model, record_encoder(model, sources, request), decoder_inputs, request)


def record_encoder(
    model: Transformer, sources: Sequence[Ids], request: Request = _EVERY_ATTENTION
) -> EncoderActivations:
    """Run the encoder's half of `record`."""
    ids = _padded_ids(model, sources, len(model.source_embedding.weight))
    mask = request.source_mask
    if mask is None and _padded(sources):
        mask = padding_mask(ids, model.config.pad_id)
    with recording(model, request, Stack.ENCODER) as calls:
        memory = model.encode(ids, mask)
    return EncoderActivations(memory, mask, _frozen(calls))


def record_decoder(
    model: Transformer, encoder: EncoderActivations, decoder_inputs: Sequence[Ids], request: Request = _EVERY_ATTENTION
) -> Activations:
    """Run the decoder's half of `record`, for the same request."""
    ids = _padded_ids(model, decoder_inputs, len(model.target_embedding.weight))
    mask = request.target_mask
    if mask is None:
        padded = _padded(decoder_inputs)
        mask = target_mask(ids, model.config.pad_id) if padded else causal_mask(ids.shape[1], model.device)
    with recording(model, request, Stack.DECODER) as calls:
        hidden = model.decode(ids, encoder.memory, mask, encoder.source_mask)
        logits = model.output_projection(hidden[:, -(request.logits_to_keep or ids.shape[1]) :])
    both = {name: (*encoder.calls.get(name, ()), *calls.get(name, ())) for name in (*encoder.calls, *calls)}
    return Activations(logits, encoder.memory, hidden, _frozen(both))


@torch.inference_mode()
def read_decoding(model: Transformer, encoder: EncoderActivations, step: KeepingStep) -> Activations:
    """Return the activations of a sentence that was decoded step by step, without replaying it.

    The numbers are those of the cached steps, within 1e-5 of a pass over all at once.
    """
    hidden, calls = torch.stack(step.vectors, dim=1), dict(encoder.calls)
    mask = causal_mask(hidden.shape[1], model.device)
    for layer, cache in enumerate(step.caches):
        query, output, cross_query, cross_output = step.attended(layer)
        within = query, cache.key[:, :, : len(mask)], cache.value[:, :, : len(mask)], mask, None, None
        across = cross_query, cache.memory_key, cache.memory_value, encoder.source_mask, None, None
        calls[f"{AttentionKind.DECODER.block_name(layer)}.core"] = (Call(within, output),)
        calls[f"{AttentionKind.CROSS.block_name(layer)}.core"] = (Call(across, cross_output),)
    return Activations(model.output_projection(hidden), encoder.memory, hidden, MappingProxyType(calls))


@contextlib.contextmanager
def recording(model: nn.Module, request: Request, stack: Stack | None = None) -> Iterator[dict[str, list[Call]]]:
    """Change this thread's passes through a stack as requested, and collect their calls; None for a model of one."""
    if model.training:
        raise ValueError("recording expects a model in eval mode, got one in training mode")
    # Both inputs may share modules: a module named after one stack is kept in its own half alone.
    elsewhere = tuple(other for other in Stack if stack and other is not stack)
    named = (each for pattern in request.keep for each in modules_named(model, pattern))
    modules = {name: module for name, module in named if not name.startswith(elsewhere)}
    calls: dict[str, list[Call]] = {name: [] for name in modules}
    changes = [(module, change) for pattern, change in request.change for _, module in modules_named(model, pattern)]
    with (
        torch.inference_mode(not request.gradients),
        torch.set_grad_enabled(request.gradients),
        # first, so that the other hooks see the changes
        hooks_installed((module, partial(_replace, change)) for module, change in changes),
        hooks_installed((module, partial(_keep, calls[name])) for name, module in modules.items()),
    ):
        yield calls


def _replace(change: Callable[[Tensor], Tensor], _module: nn.Module, _inputs: Inputs, output: Tensor) -> Tensor:
    return change(output)


def _keep(calls: list[Call], _module: nn.Module, inputs: Inputs, output: Tensor) -> None:
    calls.append(Call(inputs, output))


def _padded_ids(model: Transformer, rows: Sequence[Ids], size: int) -> Tensor:
    """Return the rows as [batch, longest]; raises ValueError for ids that are not below `size`, or none."""
    if not rows or not all(len(row) and min(row) >= 0 and max(row) < size for row in rows):
        raise ValueError(f"each sentence needs ids, and these from 0 to {size - 1}")
    return pad(rows, model.config.pad_id, model.device)


def _padded(rows: Sequence[Ids]) -> bool:
    return len({len(row) for row in rows}) > 1


def _frozen(calls: Mapping[str, Sequence[Call]]) -> Mapping[str, tuple[Call, ...]]:
    return MappingProxyType({name: tuple(each) for name, each in calls.items() if each})


@dataclass(frozen=True, eq=False)
class Predictions:
    """Predictions at some positions, [...], such as [target] or [layers, target]. Arrays are read-only.

    best_ids, best_probabilities: [..., count], most probable first; probabilities and ranks (1 = most probable) of the
    target tokens, and entropies in nats: [...].
    """

    best_ids: np.ndarray
    best_probabilities: np.ndarray
    probabilities: np.ndarray
    ranks: np.ndarray
    entropies: np.ndarray

    def to_frame(self) -> "pandas.DataFrame":
        """List them: layer, where there are several, and step from 0; probability, rank and entropy; best_id and
        best_probability of the most probable token.
        """
        import pandas  # not needed to translate

        best = {"best_id": self.best_ids[..., 0], "best_probability": self.best_probabilities[..., 0]}
        axes = ("layer", "step")[-self.ranks.ndim :]
        values = {"probability": self.probabilities, "rank": self.ranks, "entropy": self.entropies, **best}
        return pandas.DataFrame(cell_columns(axes, **values))


@torch.inference_mode()
def predict(logits: Tensor, target_ids: Tensor, count: int) -> Predictions:
    """Read `logits` [..., vocab] and the ids that follow, broadcastable to [...]; keep `count` candidates each."""
    log_probabilities = widened(logits).log_softmax(dim=-1)
    probabilities = widened(logits).softmax(dim=-1)  # sooner than the logarithms' exponential
    best = probabilities.topk(min(count, logits.shape[-1]), dim=-1)
    chosen = probabilities.gather(-1, target_ids.expand(logits.shape[:-1])[..., None])
    return Predictions(
        best_ids=to_array(best.indices),
        best_probabilities=to_array(best.values),
        probabilities=to_array(chosen[..., 0]),
        ranks=to_array((probabilities > chosen).sum(dim=-1) + 1),
        entropies=to_array(-torch.linalg.vecdot(probabilities, log_probabilities)),
    )
