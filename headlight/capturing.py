"""Attention weights of any PyTorch module, recorded while it runs: `capture`."""

import contextlib
import copy
import fnmatch
import inspect
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from .exploring import Display, explore

_FORWARD = inspect.signature(nn.MultiheadAttention.forward)
_CROSS = re.compile(r"cross|multihead_attn|encoder_attn|encdec", re.IGNORECASE)  # in names of PyTorch and transformers


class Captured(Mapping[str, tuple[Tensor, ...]]):
    """Attention weights by the name of the module, one tensor per call: [batch, heads, queries, keys], detached."""

    def __init__(self) -> None:
        self._calls: dict[str, list[Tensor]] = {}

    def __getitem__(self, name: str) -> tuple[Tensor, ...]:
        return tuple(self._calls[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._calls)

    def __len__(self) -> int:
        return len(self._calls)

    def __repr__(self) -> str:
        return f"<Captured: {', '.join(f'{name} ({len(calls)})' for name, calls in self._calls.items()) or 'nothing'}>"

    def clear(self) -> None:
        """Forget all calls, for example before the next batch."""
        self._calls.clear()

    def add(self, name: str, weights: Tensor) -> None:
        """Keep the weights of one call, unless they are those that a module inside has just returned."""
        weights = weights.detach() if weights.dim() == 4 else weights.detach()[None]
        if not any(calls[-1].data_ptr() == weights.data_ptr() for calls in self._calls.values()):
            self._calls.setdefault(name, []).append(weights)

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
        for name, calls in self._calls.items():
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
    modules of a class named "...Attention" that return their weights, [batch, heads, queries, keys], in a tuple. Inside,
    PyTorch's fast path for inference, which has no weights, is off, and models of `transformers` compute attention
    eagerly: where that is another kernel, outputs are equal within its rounding; all others are bit-identical, and
    gradients are those of the module. Weights of `nn.MultiheadAttention` are those before dropout. Only calls of this
    thread are recorded; afterwards the module is as it was. Raises ValueError for a module without attention.
    """
    captured, thread = Captured(), threading.get_ident()
    named = [(name, each) for name, each in module.named_modules() if _has_attention(each)]
    if not named:
        raise ValueError(f"expected a module with nn.MultiheadAttention or of transformers, got {type(module).__name__}")
    with contextlib.ExitStack() as stack:
        stack.enter_context(_eager(module))
        for name, each in named:
            keep = _keep_multihead if isinstance(each, nn.MultiheadAttention) else _keep_returned
            hook = each.register_forward_hook(partial(keep, captured, name, thread), with_kwargs=True)
            stack.callback(hook.remove)
        yield captured


def _has_attention(module: nn.Module) -> bool:
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


def _keep_multihead(
    captured: Captured, name: str, thread: int, module: nn.Module, inputs: Any, named: Any, _output: Any
) -> None:
    """Compute the weights once more beside the call: its own kernel, if it is a fused one, never has them."""
    if threading.get_ident() != thread:
        return
    call = _FORWARD.bind(module, *inputs, **named).arguments
    twin = copy.copy(module)  # with the same parameters
    twin.training = False  # dropout would draw random numbers
    with torch.no_grad():
        asked = {**call, "self": twin, "need_weights": True, "average_attn_weights": False}
        captured.add(name, nn.MultiheadAttention.forward(**asked)[1])


def _keep_returned(
    captured: Captured, name: str, thread: int, _module: nn.Module, _inputs: Any, _named: Any, output: Any
) -> None:
    returned = output if isinstance(output, tuple) and threading.get_ident() == thread else ()
    maps = [each for each in returned if isinstance(each, Tensor) and each.dim() == 4]
    if maps:
        captured.add(name, maps[-1])
