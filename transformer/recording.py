"""Watching the model at work: hooks on its attention that read, or silence, single heads."""

import contextlib
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from .attention import MultiHeadAttention, attention_weights
from .masks import causal_mask
from .model import Transformer

_registry = threading.Lock()  # PyTorch numbers its hooks without one

KINDS = ("encoder", "decoder", "cross")


@dataclass(frozen=True)
class Recording:
    """What one teacher-forced pass showed.

    encoder: [layers, heads, source, source], decoder: [layers, heads, target, target],
    cross: [layers, heads, target, source], logits: [target, vocab].
    """

    encoder: Tensor
    decoder: Tensor
    cross: Tensor
    logits: Tensor


def attention_blocks(model: Transformer, kind: str) -> list[MultiHeadAttention]:
    """The multi-head attentions of a kind, first layer first; raises ValueError for an unknown kind."""
    if kind == "encoder":
        return [layer.self_attention for layer in model.encoder]
    if kind == "decoder":
        return [layer.self_attention for layer in model.decoder]
    if kind == "cross":
        return [layer.cross_attention for layer in model.decoder]
    raise ValueError(f"kind must be one of {', '.join(KINDS)}, got {kind!r}")


@dataclass(frozen=True)
class SourceRecording:
    """What the encoder's pass showed: its maps [layers, heads, source, source] and the memory [1, source, d_model]."""

    encoder: Tensor
    memory: Tensor


def record(model: Transformer, source: Sequence[int], fed: Sequence[int]) -> Recording:
    """One teacher-forced pass over one sentence with every attention watched.

    source: ids ending with end of sentence; fed: ids beginning with begin of sentence, what the decoder reads.
    The logits are bit-identical to an unobserved pass. Raises ValueError when the model is in training mode, whose
    dropout would make the maps of one pass differ from the next.
    """
    return record_target(model, record_source(model, source), fed)


@torch.inference_mode()
def record_source(model: Transformer, source: Sequence[int]) -> SourceRecording:
    """The encoder's half of `record`; its memory may serve to decode before the other half."""
    with watched(model, "encoder", _weights) as maps:
        memory = model.encode(torch.tensor([list(source)], device=model.device), None)  # one sentence: no padding
    return SourceRecording(torch.stack(maps), memory)


@torch.inference_mode()
def record_target(model: Transformer, seen: SourceRecording, fed: Sequence[int]) -> Recording:
    """The decoder's half of `record`."""
    target = torch.tensor([list(fed)], device=model.device)
    with watched(model, "decoder", _weights) as decoder, watched(model, "cross", _weights) as cross:
        hidden = model.decode(target, seen.memory, causal_mask(len(fed), model.device), None)
        logits = model.generator(hidden)
    return Recording(seen.encoder, torch.stack(decoder), torch.stack(cross), logits[0])


@contextlib.contextmanager
def watched(model: Transformer, kind: str, look: Callable) -> Iterator[list]:
    """Within the block, a pass of this thread fills the list with look(query, key, value, mask, output) of each layer.

    That is what the attention's core of a kind was given and gave back, `Tensor`s with batch and heads in front. Raises
    ValueError when the model is in training mode.
    """
    if model.training:
        raise ValueError("recording expects a model in eval mode, got one in training mode")
    seen: list = []

    def keep(core, arguments, output) -> None:
        seen.append(look(*arguments, output))

    with hooked((block.core, keep) for block in attention_blocks(model, kind)):
        yield seen


def _weights(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, output: Tensor) -> Tensor:
    """The weights of a batch of one sentence: [heads, queries, keys]."""
    return attention_weights(query, key, mask)[0]


@contextlib.contextmanager
def silenced(model: Transformer, heads: Iterable[tuple[str, int, int]]) -> Iterator[None]:
    """Within the block, this thread's passes get zero from these (kind, layer, head), counted from 0.

    Equals zeroing the head's slice of the concatenation before W_O. Raises ValueError for a head that is not there.
    """
    by_block: dict[MultiHeadAttention, list[int]] = {}
    for kind, layer, head in heads:
        blocks = attention_blocks(model, kind)
        if not (0 <= layer < len(blocks) and 0 <= head < blocks[layer].num_heads):
            raise ValueError(f"there is no {kind} layer {layer}, head {head} in this model")
        by_block.setdefault(blocks[layer], []).append(head)

    def zero(chosen: list[int]) -> Callable:
        def hook(core, arguments, output):
            output = output.clone()  # batch heads queries d_k
            output[:, chosen] = 0.0
            return output

        return hook

    with hooked((block.core, zero(chosen)) for block, chosen in by_block.items()):
        yield


@contextlib.contextmanager
def hooked(hooks: Iterable[tuple[nn.Module, Callable]]) -> Iterator[None]:
    """Put each forward hook on its module for this thread alone, and take all away in the end.

    The model is shared by all visitors of a server: another thread's pass must neither be seen nor be changed.
    """
    owner = threading.get_ident()

    def own(hook: Callable) -> Callable:
        return lambda *call: hook(*call) if threading.get_ident() == owner else None

    handles = []
    try:
        for module, hook in hooks:
            with _registry:
                handles.append(module.register_forward_hook(own(hook)))
        yield
    finally:
        for handle in handles:
            with _registry:
                handle.remove()
