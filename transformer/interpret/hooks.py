"""Forward hooks on the model's modules, chosen by name and bound to the thread that sets them."""

import contextlib
import fnmatch
import threading
from collections.abc import Callable, Iterable, Iterator
from functools import partial

from torch import Tensor, nn

from ..model.names import AttentionKind
from ..model.transformer import Transformer

Hook = Callable[[nn.Module, tuple, Tensor], Tensor | None]
Change = tuple[str, Callable[[Tensor], Tensor]]  # modules by name, and what to make of their output
Head = tuple[AttentionKind | str, int, int]  # kind, layer and head, counted from 0

_registry = threading.Lock()  # PyTorch numbers its hooks without one


def modules_named(model: nn.Module, pattern: str) -> list[tuple[str, nn.Module]]:
    """Modules by name, in the model's order; "*" stands for any text between two dots: "decoder.*.cross_attention".

    A module that has two names is found by the first. Raises ValueError where none has such a name.
    """
    found = [("", model)]
    for part in pattern.split("."):
        found = [
            (f"{name}.{child}".lstrip("."), inner)
            for name, module in found
            for child, inner in module.named_children()
            if fnmatch.fnmatchcase(child, part)
        ]
    if not found:
        raise ValueError(f"the model has no module named {pattern!r}")
    return found


@contextlib.contextmanager
def hooked(hooks: Iterable[tuple[nn.Module, Hook]]) -> Iterator[None]:
    """Put each forward hook on its module for this thread alone, and take all away in the end.

    The model is shared by all users of a server: another thread's pass must neither be seen nor be changed.
    """
    owner = threading.get_ident()

    def own(hook: Hook) -> Hook:
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


def changed(model: Transformer, changes: Iterable[Change]) -> contextlib.AbstractContextManager:
    """Change the outputs of modules in this thread's passes; raises ValueError for a name that no module has."""
    found = ((module, change) for pattern, change in changes for _, module in modules_named(model, pattern))
    return hooked([(module, partial(_replace_output, change)) for module, change in found])


def zero_ablation(model: Transformer, heads: Iterable[Head]) -> tuple[Change, ...]:
    """The changes that set the outputs of these heads to zero (Michel et al. 2019).

    Equals zeroing the head's slice of the concatenation before W_O. Raises ValueError for a head that is not there.
    """
    by_name: dict[str, list[int]] = {}
    for kind, layer, head in heads:
        kind = AttentionKind(kind)
        if not (0 <= layer < len(getattr(model, kind.stack)) and 0 <= head < model.config.num_heads):
            raise ValueError(f"there is no {kind} layer {layer}, head {head} in this model")
        by_name.setdefault(f"{kind.block_name(layer)}.core", []).append(head)
    return tuple((name, partial(_zero, numbers)) for name, numbers in by_name.items())


def zero_ablated(model: Transformer, heads: Iterable[Head]) -> contextlib.AbstractContextManager:
    """Within the block, this thread's passes, cached decoding among them, run without these heads."""
    return changed(model, zero_ablation(model, heads))


def _replace_output(change: Callable[[Tensor], Tensor], module: nn.Module, inputs: tuple, output: Tensor) -> Tensor:
    return change(output)


def _zero(heads: list[int], output: Tensor) -> Tensor:
    output = output.clone()  # batch heads queries d_k
    output[:, heads] = 0.0
    return output
