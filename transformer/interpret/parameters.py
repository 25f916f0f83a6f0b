"""The model as the blocks of the paper's figure 1: parameters, and what went into each and came out for a sentence."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import nn

from ..arrays import read_only
from ..config import ModelConfig
from ..model.transformer import Transformer
from .residual import Stack, Stream, SubLayer, sublayers_of


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


WIDTHS = (128, 256, 512, 1024)


def parameters_at(config: ModelConfig, widths: Sequence[int]) -> dict[int, int]:
    """Parameters of a model of this shape with each d_model instead and d_ff growing alike, where heads divide it.

    Counted from the layers' shapes: embeddings, 4 d_model^2 + 4 d_model an attention, 2 d_model d_ff + d_ff + d_model a
    feed-forward, 2 d_model a LayerNorm (paper, 3.2 to 3.4).
    """
    return {width: _count_of(_widened(config, width)) for width in widths if width % config.num_heads == 0}


def _widened(config: ModelConfig, width: int) -> ModelConfig:
    return replace(config, d_model=width, d_ff=config.d_ff * width // config.d_model)


def _count_of(config: ModelConfig) -> int:
    d, ff = config.d_model, config.d_ff
    attention, feed_forward, norm = 4 * d * d + 4 * d, 2 * d * ff + ff + d, 2 * d
    encoder = config.num_encoder_layers * (attention + feed_forward + 2 * norm)
    decoder = config.num_decoder_layers * (2 * attention + feed_forward + 3 * norm)
    last = 2 * norm if config.norm == "pre" else 0
    return (1 if config.share_embeddings else 3) * config.vocab_size * d + encoder + decoder + last


def norm_parameters(model: Transformer) -> list[tuple[str, np.ndarray, np.ndarray]]:
    """Name, gamma and beta, [d_model] each, of every LayerNorm."""
    return [
        (name, module.weight.detach().cpu().numpy(), module.bias.detach().cpu().numpy())
        for name, module in model.named_modules()
        if isinstance(module, nn.LayerNorm)
    ]


def nearest(matrix: np.ndarray, id: int, count: int = 10) -> list[tuple[int, float]]:
    """The ids whose rows have the largest cosine with the row of `id`, itself left out, largest first.

    matrix: [vocab, d_model]. A row of zeros points nowhere and has the cosine 0 with all. Raises ValueError for an id
    that is not there.
    """
    if not 0 <= id < len(matrix):
        raise ValueError(f"id must be in 0 to {len(matrix) - 1}, got {id}")
    rows = np.asarray(matrix, dtype=np.float64)
    lengths = np.linalg.norm(rows, axis=1)
    cosines = rows @ rows[id] / np.maximum(lengths * lengths[id], 1e-300)
    order = [int(other) for other in np.argsort(-cosines, kind="stable") if other != id]
    return [(other, float(cosines[other])) for other in order[:count]]
