"""The decoder's step as one function, without a call to each of its modules: a quarter less time for one sentence.

A step of one sentence is some hundred small operations, and calling the modules around them takes as long as a third of
these. Here are the same operations on the same weights, so the logits are those of `Transformer.step` bit for bit. What
no module is called for no hook sees: a decoder with hooks takes its steps through its modules.
"""

import math
import threading
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..config import ModelConfig, NormType, Positions
from .attention import ROOM, LayerCache
from .layers import DecoderLayer
from .transformer import Transformer

Step = Callable[[Tensor, list[LayerCache], Tensor | None], Tensor]
_MANY = 16  # rows

_Product = Callable[[Tensor], Tensor]
_Norm = tuple[tuple[int, ...], Tensor, Tensor, float]


def decoding_step(model: Transformer) -> Step:
    """Return the function from each sentence's newest token [rows], caches and source mask to the logits [rows, vocab].

    It holds the weights as they are now, so it is to be made anew for each translation.
    """
    if not _is_fused(model):
        return lambda tokens, caches, source_mask: model.step(tokens[:, None], caches, source_mask)
    return FusedStep(model)


@torch.inference_mode()
def keeping_step(model: Transformer) -> "KeepingStep | None":
    """Return such a function that keeps what attention saw; None where a hook has to see the modules.

    And None in half precision, in which a step's last digits are not those of a pass over all positions at once.
    """
    return KeepingStep(model) if model.dtype.itemsize >= 4 and _is_fused(model) else None


def _is_fused(model: Transformer) -> bool:
    return not model.training and is_covered(model.config) and not _is_observed(model)


def is_covered(config: ModelConfig) -> bool:
    """Tell whether the function below computes a model of this shape: T5's has parts that it does not know."""
    as_papers = config.scale_scores and config.bias and config.d_k * config.num_heads == config.d_model
    return as_papers and config.norm_type == NormType.LAYER and config.positions != Positions.RELATIVE


def _is_observed(model: Transformer) -> bool:
    """Tell whether a hook would see this thread's steps: not one that names another `thread`."""
    modules = (module for part in (model.decoder_input, model.decoder, model.decoder_norm) for module in part.modules())
    hooks = (hook for each in modules for hook in (*each._forward_hooks.values(), *each._forward_pre_hooks.values()))
    this = threading.get_ident()
    return any(getattr(hook, "thread", this) == this for hook in hooks) or nn.modules.module._has_any_global_hook()


@dataclass(frozen=True)
class _Layer:
    """The weights of a decoder layer in the order of their use; a norm is [its shape, gain, bias, epsilon]."""

    query_key_value: _Product
    self_output: _Product
    self_norm: _Norm
    query: _Product
    cross_output: _Product
    cross_norm: _Norm
    inner: _Product
    activate: Callable[[Tensor], Tensor]
    outer: _Product
    forward_norm: _Norm

    @classmethod
    def of(cls, layer: DecoderLayer) -> "_Layer":
        attention, cross, feed_forward = layer.self_attention, layer.cross_attention, layer.feed_forward
        return cls(
            attention.query_key_value.product(),
            attention.output.product(),
            _norm(layer.self_attention_residual.norm),
            cross.query_key_value.product(0, cross.width),
            cross.output.product(),
            _norm(layer.cross_attention_residual.norm),
            feed_forward.inner.product(),
            feed_forward.activate.forward,
            feed_forward.outer.product(),
            _norm(layer.feed_forward_residual.norm),
        )


class FusedStep:
    """The step of a model whose shape `is_covered`: from each sentence's newest token to logits, [rows, vocab]."""

    def __init__(self, model: Transformer):
        config = model.config
        self.model, self.num_heads, self.norm_first = model, config.num_heads, config.norm == "pre"
        first = model.decoder_input
        self.embedding, self.scale, self.positions = first.embedding.weight, first.embedding.scale, first.positions
        self.first_norm = _norm(first.norm) if config.embedding_norm else None
        self.layers = [_Layer.of(layer) for layer in model.decoder]  # type: ignore[arg-type]
        self._in_products = self.embedding.device.type == "cpu" and self.embedding.dtype == torch.float32
        self._so_far = self.embedding.new_zeros(1, 1, 2 * ROOM)
        self._so_far[..., ROOM:] = -math.inf
        self._mask: Tensor | None = None
        self._memory_bias: Tensor | None = None

    def __call__(self, tokens: Tensor, caches: list[LayerCache], source_mask: Tensor | None) -> Tensor:
        return self.model.output_projection(self.hidden(tokens, caches, source_mask))

    def hidden(self, tokens: Tensor, caches: list[LayerCache], source_mask: Tensor | None) -> Tensor:
        """Return what the output projection is given: [rows, d_model]."""
        start = caches[0].length
        self._by_products = self._in_products and len(tokens) >= _MANY and self._can_add(source_mask, caches[0])
        self.positions.require_room(start + 1)
        x = F.embedding(tokens, self.embedding) * self.scale + self.positions.table[start]
        if self.first_norm:
            x = torch.layer_norm(x, *self.first_norm)
        step = self._pre_norm if self.norm_first else self._post_norm
        for layer, cache in zip(self.layers, caches, strict=True):
            x = step(x, layer, cache, source_mask)
        return self.model.decoder_norm(x)

    def _post_norm(self, x: Tensor, layer: _Layer, cache: LayerCache, source_mask: Tensor | None) -> Tensor:
        x = torch.layer_norm(x + self._attend_so_far(x, layer, cache), *layer.self_norm)
        x = torch.layer_norm(x + self._attend_memory(x, layer, cache, source_mask), *layer.cross_norm)
        return torch.layer_norm(x + _feed_forward(x, layer), *layer.forward_norm)

    def _pre_norm(self, x: Tensor, layer: _Layer, cache: LayerCache, source_mask: Tensor | None) -> Tensor:
        x = x + self._attend_so_far(torch.layer_norm(x, *layer.self_norm), layer, cache)
        x = x + self._attend_memory(torch.layer_norm(x, *layer.cross_norm), layer, cache, source_mask)
        return x + _feed_forward(torch.layer_norm(x, *layer.forward_norm), layer)

    def _attend_so_far(self, x: Tensor, layer: _Layer, cache: LayerCache) -> Tensor:
        heads = self.num_heads
        projected = layer.query_key_value(x).view(len(x), 3 * heads, 1, -1)
        query, key, value = projected.chunk(3, dim=1)
        keys, values = cache.append(key, value)
        if not self._by_products:
            attended = self._attend(query, keys, values, None)
        else:
            seen = max(cache.length, min(ROOM, cache.key.shape[2]))
            first = ROOM - cache.length if cache.length < ROOM else 0
            bias = self._so_far[..., first : first + seen] if first else self._so_far[..., :1]
            attended = _by_products(query, cache.key[:, :, :seen], cache.value[:, :, :seen], bias)
        return layer.self_output(attended.reshape(x.shape))

    def _attend(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> Tensor:
        return F.scaled_dot_product_attention(query, key, value, attn_mask=mask)

    def _attend_memory(self, x: Tensor, layer: _Layer, cache: LayerCache, mask: Tensor | None) -> Tensor:
        query = layer.query(x).view(len(x), self.num_heads, 1, -1)
        if self._by_products:
            attended = _by_products(query, cache.memory_key, cache.memory_value, self._memory_bias)
        else:
            attended = self._attend(query, cache.memory_key, cache.memory_value, mask)
        return layer.cross_output(attended.reshape(x.shape))

    def _can_add(self, mask: Tensor | None, cache: LayerCache) -> bool:
        if mask is None:
            self._mask, self._memory_bias = None, self._so_far[..., :1]
        elif mask is not self._mask:
            self._mask, self._memory_bias = mask, None
            if mask.any(dim=-1).all():
                rows, heads, keys, _ = cache.memory_key.shape
                bias = self._so_far.new_zeros(rows, heads, 1, keys).masked_fill_(~mask, -math.inf)
                self._memory_bias = bias.view(rows * heads, 1, keys)
        return self._memory_bias is not None


class KeepingStep(FusedStep):
    """The step that keeps its last vectors, and of each attention its query and output: the caches have the rest."""

    def __init__(self, model: Transformer):
        super().__init__(model)
        self.caches: list[LayerCache] = []
        self.vectors: list[Tensor] = []
        self._kept: list[Tensor] = []

    def attended(self, layer: int) -> tuple[Tensor, ...]:
        """Return queries and outputs of a layer's self-attention, and those of its cross-attention: 4 x its keys."""
        of_step, first = 4 * len(self.layers), 4 * layer
        return tuple(torch.cat(self._kept[at::of_step], dim=2) for at in range(first, first + 4))

    def hidden(self, tokens: Tensor, caches: list[LayerCache], source_mask: Tensor | None) -> Tensor:
        """Return what the output projection is given: [rows, d_model]."""
        self.caches = caches
        self.vectors.append(super().hidden(tokens, caches, source_mask))
        return self.vectors[-1]

    def _attend(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> Tensor:
        output = F.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        self._kept += query, output
        return output


def _by_products(query: Tensor, key: Tensor, value: Tensor, bias: Tensor) -> Tensor:
    scores = torch.baddbmm(
        bias, query.flatten(0, 1), key.flatten(0, 1).transpose(1, 2), alpha=1 / math.sqrt(query.shape[-1])
    )
    return scores.softmax(dim=2) @ value.flatten(0, 1)


def _feed_forward(x: Tensor, layer: _Layer) -> Tensor:
    return layer.outer(layer.activate(layer.inner(x)))


def _norm(norm: nn.Module) -> _Norm:
    assert isinstance(norm, nn.LayerNorm)
    return norm.normalized_shape, norm.weight, norm.bias, norm.eps
