"""Watching the model at work: hooks on its attention that read, or silence, single heads."""

import contextlib
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

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


@torch.inference_mode()
def record(model: Transformer, source: Sequence[int], fed: Sequence[int]) -> Recording:
    """One teacher-forced pass over one sentence with every attention watched.

    source: ids ending with end of sentence; fed: ids beginning with begin of sentence, what the decoder reads.
    The logits are bit-identical to an unobserved pass. Raises ValueError when the model is in training mode, whose
    dropout would make the maps of one pass differ from the next.
    """
    if model.training:
        raise ValueError("record expects a model in eval mode, got one in training mode")
    seen: dict[MultiHeadAttention, Tensor] = {}

    def keep(block: MultiHeadAttention) -> Callable:
        def hook(core, arguments, output):
            query, key, _, mask = arguments
            seen[block] = attention_weights(query, key, mask)[0]

        return hook

    blocks = {kind: attention_blocks(model, kind) for kind in KINDS}
    with _hooked((block, keep(block)) for kind in KINDS for block in blocks[kind]):
        memory = model.encode(torch.tensor([list(source)], device=model.device), None)  # one sentence: no padding
        target = torch.tensor([list(fed)], device=model.device)
        logits = model.generator(model.decode(target, memory, causal_mask(len(fed), model.device), None))
    maps = {kind: torch.stack([seen[block] for block in blocks[kind]]) for kind in KINDS}
    return Recording(**maps, logits=logits[0])


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

    with _hooked((block, zero(chosen)) for block, chosen in by_block.items()):
        yield


@contextlib.contextmanager
def _hooked(hooks: Iterable[tuple[MultiHeadAttention, Callable]]) -> Iterator[None]:
    """Put each hook on its attention's core for this thread alone, and take all away in the end.

    The model is shared by all visitors of a server: another thread's pass must neither be seen nor be changed.
    """
    owner = threading.get_ident()

    def own(hook: Callable) -> Callable:
        return lambda *call: hook(*call) if threading.get_ident() == owner else None

    handles = []
    try:
        for block, hook in hooks:
            with _registry:
                handles.append(block.core.register_forward_hook(own(hook)))
        yield
    finally:
        for handle in handles:
            with _registry:
                handle.remove()
