"""Forward hooks on the model's modules, chosen by name and bound to the thread that sets them."""

import contextlib
import fnmatch
import threading
from collections.abc import Callable, Iterable, Iterator
from functools import partial

from torch import Tensor, nn

from ..model.transformer import Transformer

Hook = Callable[[nn.Module, tuple, Tensor], Tensor | None]
Change = tuple[str, Callable[[Tensor], Tensor]]  # modules by name, and what to make of their output

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


class _OfThread:
    """A hook that is called in the thread that made it, named in `thread`, and in no other."""

    def __init__(self, hook: Hook):
        self.hook, self.thread = hook, threading.get_ident()

    def __call__(self, *call) -> Tensor | None:
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
                handles.append(module.register_forward_hook(_OfThread(hook)))
        yield
    finally:
        for handle in handles:
            with _registry:
                handle.remove()


def patch_outputs(model: Transformer, changes: Iterable[Change]) -> contextlib.AbstractContextManager:
    """Change the outputs of modules in this thread's passes; raises ValueError for a name that no module has."""
    found = ((module, change) for pattern, change in changes for _, module in modules_named(model, pattern))
    return hooks_installed([(module, partial(_replace_output, change)) for module, change in found])


def _replace_output(change: Callable[[Tensor], Tensor], module: nn.Module, inputs: tuple, output: Tensor) -> Tensor:
    return change(output)
