"""Forward hooks on the model, bound to the thread that sets them."""

import contextlib
import threading
from collections.abc import Callable, Iterable, Iterator

from torch import nn

from ..model.attention import MultiHeadAttention
from ..model.transformer import Transformer

_registry = threading.Lock()  # PyTorch numbers its hooks without one

KINDS = ("encoder", "decoder", "cross")


def attention_blocks(model: Transformer, kind: str) -> list[MultiHeadAttention]:
    """The multi-head attentions of a kind, first layer first; raises ValueError for an unknown kind."""
    if kind == "encoder":
        return [layer.self_attention for layer in model.encoder]
    if kind == "decoder":
        return [layer.self_attention for layer in model.decoder]
    if kind == "cross":
        return [layer.cross_attention for layer in model.decoder]
    raise ValueError(f"kind must be one of {', '.join(KINDS)}, got {kind!r}")


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
