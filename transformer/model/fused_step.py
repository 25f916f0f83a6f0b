"""The decoder's step as one function, without a call to each of its modules: a quarter less time for one sentence.

A step of one sentence is some hundred small operations, and calling the modules around them takes as long as a third of
these. Here are the same operations on the same weights, so the logits are those of `Transformer.step` bit for bit. What
no module is called for no hook sees: a decoder with hooks takes its steps through its modules.
"""

import math
import threading
from collections.abc import Callable, Sequence
from itertools import accumulate, groupby

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..config import ModelConfig, NormType, Positions
from .attention import ROOM, LayerCache
from .layers import DecoderLayer, EncoderLayer, Residual, StackInput
from .linear import padded
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
    parts = model.decoder_input, model.decoder, model.decoder_norm
    return not model.training and is_covered(model.config) and not _is_observed(*parts)


def is_covered(config: ModelConfig) -> bool:
    """Tell whether the function below computes a model of this shape: T5's has parts that it does not know."""
    as_papers = config.scale_scores and config.bias and config.d_k * config.num_heads == config.d_model
    return as_papers and config.norm_type == NormType.LAYER and config.positions != Positions.RELATIVE


def _is_observed(*parts: nn.Module) -> bool:
    """Tell whether a hook would see this thread's steps: not one that names another `thread`."""
    if nn.modules.module._has_any_global_hook():
        return True
    this, modules = threading.get_ident(), (module for part in parts for module in part.modules())
    seen = [each for each in modules if each._forward_hooks or each._forward_pre_hooks]
    hooks = (hook for each in seen for hook in (*each._forward_hooks.values(), *each._forward_pre_hooks.values()))
    return any(getattr(hook, "thread", this) == this for hook in hooks)


class _Layer:
    """The weights of a layer as they are now; a norm is [its shape, gain, bias, epsilon]."""

    def __init__(self, layer: EncoderLayer | DecoderLayer):
        attention, feed_forward = layer.self_attention, layer.feed_forward
        self.query_key_value, self.self_output = attention.query_key_value.product(), attention.output.product()
        self.self_norm, self.forward_norm = _norm(layer.self_attention_residual), _norm(layer.feed_forward_residual)
        is_relu = isinstance(feed_forward.activate, nn.ReLU)
        self.activate = torch.relu_ if is_relu else feed_forward.activate.forward
        self.inner, self.outer = feed_forward.inner.product(), feed_forward.outer.product()
        if isinstance(layer, DecoderLayer):
            cross, width = layer.cross_attention, layer.cross_attention.width
            self.query, self.key_value = cross.query_key_value.product(0, width), cross.query_key_value.product(width)
            self.cross_output, self.cross_norm = cross.output.product(), _norm(layer.cross_attention_residual)

    def feed_forward(self, x: Tensor) -> Tensor:
        return self.outer(self.activate(self.inner(x)))


class FusedStep:
    """The step of a model whose shape `is_covered`: from each sentence's newest token to logits, [rows, vocab]."""

    def __init__(self, model: Transformer):
        config = model.config
        self.model, self.num_heads, self.norm_first = model, config.num_heads, config.norm == "pre"
        self.layers = [_Layer(layer) for layer in model.decoder]  # type: ignore[arg-type]
        weight = model.decoder_input.embedding.weight
        self._on_cpu = weight.device.type == "cpu" and weight.dtype == torch.float32
        self._unfilled = weight.new_zeros(1, 1, 2 * ROOM)
        self._unfilled[..., ROOM:] = -math.inf
        self._mask: Tensor | None = None
        self._bias: Tensor | None = None

    def __call__(self, tokens: Tensor, caches: list[LayerCache], source_mask: Tensor | None) -> Tensor:
        return self.model.output_projection(self.hidden(tokens, caches, source_mask))

    def start(self, sources: Sequence[Sequence[int]], capacity: int) -> list[LayerCache] | None:
        """Encode all sentences side by side, without padding, and return the caches; None where modules have to."""
        model, device = self.model, self.model.device
        if not self._on_cpu or _is_observed(model.encoder_input, model.encoder, model.encoder_norm):
            return None
        order = sorted(range(len(sources)), key=lambda row: len(sources[row]))
        lengths = [len(sources[row]) for row in order]
        more = padded(sum(lengths)) - sum(lengths)  # tokens that make a number of rows that products are fast with
        ids = torch.tensor([id for row in order for id in sources[row]] + more * [0])
        positions = torch.tensor([at for length in lengths for at in range(length)] + more * [0])
        groups = [(length, len(list(group))) for length, group in groupby([*lengths, *more * [1]])]
        x = self._embed(model.encoder_input, ids, positions)
        for each in model.encoder:
            layer = _Layer(each)
            x = self._add(x, layer.self_norm, lambda y: self._attend_within(y, layer, groups))
            x = self._add(x, layer.forward_norm, layer.feed_forward)
        x = model.encoder_norm(x)
        starts = torch.tensor([0, *accumulate(lengths)])[torch.tensor(order).argsort()]
        inside = torch.arange(max(lengths)).minimum(torch.tensor(list(map(len, sources)))[:, None] - 1)
        at = starts[:, None] + inside  # what is beyond a sentence's end is masked: its last token, once more
        caches = []
        for layer in self.layers:
            both = layer.key_value(x)[at].view(*at.shape, 2, self.num_heads, -1)
            caches.append(LayerCache(*both.permute(2, 0, 3, 1, 4).contiguous(), capacity))
        return caches

    def hidden(self, tokens: Tensor, caches: list[LayerCache], source_mask: Tensor | None) -> Tensor:
        """Return what the output projection is given: [rows, d_model]."""
        start = caches[0].length
        self.model.decoder_input.positions.require_room(start + 1)
        self._by_products = self._on_cpu and len(tokens) >= _MANY and self._can_add(source_mask, caches[0])
        x = self._embed(self.model.decoder_input, tokens, start)
        for layer, cache in zip(self.layers, caches, strict=True):
            x = self._add(x, layer.self_norm, lambda y: self._attend_so_far(y, layer, cache))
            x = self._add(x, layer.cross_norm, lambda y: self._attend_memory(y, layer, cache, source_mask))
            x = self._add(x, layer.forward_norm, layer.feed_forward)
        return self.model.decoder_norm(x)

    def _embed(self, first: StackInput, ids: Tensor, positions: Tensor | int) -> Tensor:
        x = F.embedding(ids, first.embedding.weight) * first.embedding.scale + first.positions.table[positions]
        return first.norm(x)

    def _add(self, x: Tensor, norm: _Norm, sublayer: _Product) -> Tensor:
        if self.norm_first:
            return x + sublayer(torch.layer_norm(x, *norm))
        return torch.layer_norm(x + sublayer(x), *norm)

    def _attend_within(self, x: Tensor, layer: _Layer, groups: list[tuple[int, int]]) -> Tensor:
        projected, attended = layer.query_key_value(x), []
        for (length, count), part in zip(groups, projected.split([length * count for length, count in groups])):
            query, key, value = part.view(count, length, 3, self.num_heads, -1).permute(2, 0, 3, 1, 4)
            attended.append(F.scaled_dot_product_attention(query, key, value).transpose(1, 2).reshape(length * count, -1))
        return layer.self_output(torch.cat(attended))

    def _attend_so_far(self, x: Tensor, layer: _Layer, cache: LayerCache) -> Tensor:
        projected = layer.query_key_value(x).view(len(x), 3 * self.num_heads, 1, -1)
        query, key, value = projected.chunk(3, dim=1)
        keys, values = cache.append(key, value)
        bias = self._unfilled[..., :1]
        if self._by_products and cache.length < ROOM:  # a softmax of fewer takes five times as long
            keys, values = cache.key, cache.value
            bias = self._unfilled[..., ROOM - cache.length :][..., : keys.shape[2]]
        return layer.self_output(self._attend(query, keys, values, None, bias).reshape(x.shape))

    def _attend_memory(self, x: Tensor, layer: _Layer, cache: LayerCache, mask: Tensor | None) -> Tensor:
        query = layer.query(x).view(len(x), self.num_heads, 1, -1)
        attended = self._attend(query, cache.memory_key, cache.memory_value, mask, self._bias)
        return layer.cross_output(attended.reshape(x.shape))

    def _attend(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, bias: Tensor | None) -> Tensor:
        """Attend from one query a row; of many rows by products, where `bias` is the mask as what is added."""
        if not self._by_products:
            return F.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        query, key, value = query.flatten(0, 1), key.flatten(0, 1), value.flatten(0, 1)
        scores = torch.baddbmm(bias, query, key.transpose(1, 2), alpha=1 / math.sqrt(query.shape[-1]))
        return scores.softmax(dim=2) @ value

    def _can_add(self, mask: Tensor | None, cache: LayerCache) -> bool:
        """Make what is added for the mask, once for each; False where a sentence has no key, which is no sum."""
        if mask is None:
            self._bias = self._unfilled[..., :1]
        elif mask is not self._mask:
            rows, heads, keys, _ = cache.memory_key.shape
            bias = self._unfilled.new_zeros(rows, heads, 1, keys).masked_fill_(~mask, -math.inf).flatten(0, 1)
            self._bias = bias if mask.any(dim=-1).all() else None
        self._mask = mask
        return self._bias is not None


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

    def _attend(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, bias: Tensor | None) -> Tensor:
        output = F.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        self._kept += query, output
        return output


def _norm(residual: Residual) -> _Norm:
    norm = residual.norm
    assert isinstance(norm, nn.LayerNorm)
    return norm.normalized_shape, norm.weight, norm.bias, norm.eps
