"""The model as the blocks of the paper's figure 1: parameters, and what went into each and came out for a sentence."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

from .model import Transformer
from .stream import Stack, Stream, SubLayer, sublayers_of
from .trace import read_only


@dataclass(frozen=True, eq=False)
class Block:
    """One box of the figure. `kind` is "embedding", "positions", one of `stream.SUBLAYERS`, "norm", "add",
    "add_and_norm", "generator" or "softmax"; `layer` counts from 0 and is None outside the layers.

    `parameters` are counted where they are first used: a matrix that is shared again counts 0 there, and `shared_with`
    names where. before, after: [tokens, width], what went in and what came out; `before` is None where ids go in.
    """

    name: str
    stack: str
    kind: str
    layer: int | None
    parameters: int
    shared_with: str | None
    before: np.ndarray | None
    after: np.ndarray


def blocks_of(model: Transformer, stream: Stream) -> list[Block]:
    """All blocks in the order of computation, encoder first, for the sentence of a recorded stream."""
    shared = model.config.share_embeddings
    encoder = list(_stack_blocks(model, "encoder", stream.encoder, None))
    decoder = list(_stack_blocks(model, "decoder", stream.decoder, "source_embedding" if shared else None))
    hidden, logits = stream.decoder.end, stream.logits
    generator = Block(
        "generator", "output", "generator", None, 0 if shared else _count(model.generator),
        "source_embedding" if shared else None, hidden, logits,
    )  # fmt: skip
    powers = np.exp(logits - logits.max(axis=-1, keepdims=True))
    softmax = Block("softmax", "output", "softmax", None, 0, None, logits, powers / powers.sum(axis=-1, keepdims=True))
    return [*encoder, *decoder, generator, softmax]


def _stack_blocks(model: Transformer, name: str, stack: Stack, shared_with: str | None) -> Iterator[Block]:
    side = "source" if name == "encoder" else "target"
    embedding = getattr(model, f"{side}_embedding")
    yield Block(
        f"{side}_embedding", name, "embedding", None, 0 if shared_with else _count(embedding), shared_with, None,
        stack.embedded,
    )  # fmt: skip
    yield Block(f"{side}_positions", name, "positions", None, 0, None, stack.embedded, stack.start)
    for (layer, kind, module, residual), seen in zip(sublayers_of(model, name), stack.sublayers, strict=True):
        yield from _sublayer_blocks(
            f"{name}.{layer}", name, layer, kind, module, residual.norm, seen, model.config.norm
        )
    last = getattr(model, f"{name}_norm")
    if isinstance(last, nn.LayerNorm):
        yield Block(f"{name}_norm", name, "norm", None, _count(last), None, stack.sublayers[-1].after, stack.end)


def _sublayer_blocks(
    place: str, stack: str, layer: int, kind: str, module: nn.Module, norm: nn.Module, seen: SubLayer, order: str
) -> Iterator[Block]:
    name, total = f"{place}.{kind}", seen.before + seen.change
    if order == "pre":
        read = _normed(norm, seen.before)
        yield Block(f"{name}_residual.norm", stack, "norm", layer, _count(norm), None, seen.before, read)
        yield Block(name, stack, kind, layer, _count(module), None, read, seen.change)
        yield Block(f"{name}_residual", stack, "add", layer, 0, None, seen.change, seen.after)
    else:
        yield Block(name, stack, kind, layer, _count(module), None, seen.before, seen.change)
        yield Block(f"{name}_residual", stack, "add_and_norm", layer, _count(norm), None, total, seen.after)


@torch.inference_mode()
def _normed(norm: nn.Module, x: np.ndarray) -> np.ndarray:
    return read_only(norm(torch.tensor(x, device=norm.weight.device)).cpu().numpy())


def _count(module: nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())


@dataclass(frozen=True)
class ParameterRow:
    """One parameter of the model: its name in the checkpoint's file, shape, how many values, and where it is shared."""

    name: str
    shape: tuple[int, ...]
    count: int
    shared_with: str | None


def parameter_rows(model: Transformer) -> list[ParameterRow]:
    """Every parameter of every module; one that is used again is listed again, with a count of 0."""
    rows, seen = [], {}
    for name, parameter in model.named_parameters(remove_duplicate=False):
        before = seen.setdefault(parameter, name)
        first = before == name
        rows.append(
            ParameterRow(name, tuple(parameter.shape), parameter.numel() if first else 0, None if first else before)
        )
    return rows
