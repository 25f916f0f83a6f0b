"""Attention weights of any PyTorch module, recorded while it runs: `capture`."""

import contextlib
import copy
import fnmatch
import inspect
import re
import threading
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from .exploring import Display, explore

_FORWARD = inspect.signature(nn.MultiheadAttention.forward)
_CROSS = re.compile(r"cross|multihead_attn|encoder_attn|encdec", re.IGNORECASE)  # in names of PyTorch and transformers


class Captured(dict[str, list[Tensor]]):
    """Attention weights by the name of the module, one tensor per call: [batch, heads, queries, keys], detached."""

    def __repr__(self) -> str:
        return f"<Captured: {', '.join(f'{name} ({len(calls)})' for name, calls in self.items()) or 'nothing'}>"

    def add(self, name: str, weights: Tensor) -> None:
        """Keep the weights of one call, unless they are those that a module inside has just returned."""
        weights = weights.detach() if weights.dim() == 4 else weights.detach()[None]
        if not any(calls[-1].data_ptr() == weights.data_ptr() for calls in self.values()):
            self.setdefault(name, []).append(weights)

    def explore(
        self,
        tokens: Sequence[str] | None = None,
        *,
        source: Sequence[str] | None = None,
        target: Sequence[str] | None = None,
        batch: int | None = None,
        call: int | None = -1,
        modules: str = "*",
    ) -> Display:
        """Show one call of every module in the explorer, see `hl.explore`: by default the last.

        tokens: of a module with self-attention alone; source and target: of an encoder-decoder. call: None for all
        calls as the steps of one generation. modules: names to show, such as "vision_model.*". Raises ValueError where
        no module of these names was called.
        """
        kinds: dict[str, list[list[Tensor]]] = {}
        for name, calls in self.items():
            if fnmatch.fnmatchcase(name, modules):
                kind = "cross" if _CROSS.search(name) else "decoder" if "decoder" in name else "encoder"
                kinds.setdefault(kind, []).append(calls)
        if not kinds:
            raise ValueError(f"expected calls of modules named {modules!r}, got {self!r}")
        shown: dict[str, Any] = {
            kind: list(zip(*calls, strict=True)) if call is None else [each[call] for each in calls]
            for kind, calls in kinds.items()
        }
        if len(shown) == 1 and "cross" not in shown:
            shown = {"attention": next(iter(shown.values()))}
        return explore(**shown, tokens=tokens, source=source, target=target, batch=batch)


@contextlib.contextmanager
def capture(module: nn.Module) -> Iterator[Captured]:
    """Record the attention weights of every call inside, by the name of the module that computes them.

        with hl.capture(model) as attention:
            model(inputs)
        attention["encoder.layers.0.self_attn"][-1]  # the last call: [batch, heads, queries, keys]
        attention.explore(tokens)

    It records `nn.MultiheadAttention` and what contains it, such as `nn.Transformer`, models of `transformers`, and
    modules of a class named "...Attention" that return their weights, [batch, heads, queries, keys], in a tuple.
    Inside, PyTorch's fast path for inference, which has no weights, is off, and models of `transformers` compute
    attention eagerly, in all threads. Where that is another kernel, outputs without dropout are equal within rounding,
    but for padding; all others are bit-identical, with their gradients. Weights of `nn.MultiheadAttention` are those
    before dropout. Only calls of this thread are recorded; afterwards the module is as it was. Raises ValueError for a
    module without attention.
    """
    captured, thread = Captured(), threading.get_ident()
    named = [(name, each) for name, each in module.named_modules() if _has_weights(each)]
    if not named:
        raise ValueError(f"expected nn.MultiheadAttention or a model of transformers, got {type(module).__name__}")

    def keep(name: str, *call: Any) -> None:
        weights = _weights(*call) if threading.get_ident() == thread else None
        if weights is not None:
            captured.add(name, weights)

    with contextlib.ExitStack() as stack:
        stack.enter_context(_eager(module))
        for name, each in named:
            stack.callback(each.register_forward_hook(partial(keep, name), with_kwargs=True).remove)
        yield captured


def _has_weights(module: nn.Module) -> bool:
    return isinstance(module, nn.MultiheadAttention) or type(module).__name__.endswith("Attention")


@contextlib.contextmanager
def _eager(module: nn.Module) -> Iterator[None]:
    """Let modules of `transformers` compute their weights, and PyTorch call its modules one by one."""
    configs = {id(config): config for each in module.modules() if (config := getattr(each, "config", None)) is not None}
    before = [(each, name) for each in configs.values() if (name := getattr(each, "_attn_implementation", None))]
    fast = torch.backends.mha.get_fastpath_enabled()
    try:
        torch.backends.mha.set_fastpath_enabled(False)
        for config, _ in before:
            config._attn_implementation = "eager"
        yield
    finally:
        torch.backends.mha.set_fastpath_enabled(fast)
        for config, name in before:  # a model's own before those of its parts, which it sets as well
            config._attn_implementation = name


def _weights(module: nn.Module, inputs: tuple, named_inputs: dict, output: Any) -> Tensor | None:
    """Return the weights of a call; PyTorch's own attention computes them once more: a fused kernel never has them."""
    if not isinstance(module, nn.MultiheadAttention):
        values = output if isinstance(output, tuple) else ()
        return next((each for each in reversed(values) if isinstance(each, Tensor) and each.dim() == 4), None)
    arguments = _FORWARD.bind(module, *inputs, **named_inputs).arguments
    twin = copy.copy(module)  # with the same parameters
    twin.training = False  # dropout would draw random numbers
    arguments |= {"self": twin, "need_weights": True, "average_attn_weights": False}
    with torch.no_grad():
        return nn.MultiheadAttention.forward(**arguments)[1]
