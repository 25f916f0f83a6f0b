"""Encoding and decoding steps computed directly from the weights, without calls of the modules.

Module calls would add a third to the time of a step. For up to 15 rows the logits equal those of `Transformer.step`
bit for bit. From 16 rows on, attention is computed by matrix products, which take half the time of PyTorch's attention
kernel and change logits by less than 1e-5. A model with hooks is computed through its modules, so that they are called.
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

_Norm = tuple[tuple[int, ...], Tensor, Tensor, float]
_MANY = 16  # rows from which on attention by matrix products is faster than PyTorch's kernel


class Step:
    """Decoding step through the modules: newest tokens [rows], caches and source mask to logits [rows, vocab]."""

    def __init__(self, model: Transformer):
        self.model = model

    def __call__(self, tokens: Tensor, caches: list[LayerCache], source_mask: Tensor | None) -> Tensor:
        return self.model.output_projection(self.hidden(tokens, caches, source_mask))

    def hidden(self, tokens: Tensor, caches: list[LayerCache], source_mask: Tensor | None) -> Tensor:
        """Return the vectors that the output projection reads: [rows, d_model]."""
        return self.model.newest(tokens[:, None], caches, source_mask)


def decoding_step(model: Transformer) -> Step:
    """Return a step, which holds the current weights: make a new one for each translation."""
    return FusedStep(model) if _is_fused(model) else Step(model)


@torch.inference_mode()
def keeping_step(model: Transformer) -> "KeepingStep | None":
    """Return a step that stores the inputs and outputs of attention.

    None for a model with hooks, and for half precision, in which single steps differ from a pass over all tokens.
    """
    return KeepingStep(model) if model.dtype.itemsize >= 4 and _is_fused(model) else None


def _is_fused(model: Transformer) -> bool:
    parts = model.decoder_input, model.decoder, model.decoder_norm
    return not model.training and is_covered(model.config) and not _is_observed(*parts)


def is_covered(config: ModelConfig) -> bool:
    """Return whether `FusedStep` can compute a model of this shape; it lacks some parts of T5."""
    as_papers = config.scale_scores and config.bias and config.d_k * config.num_heads == config.d_model
    return as_papers and config.norm_type == NormType.LAYER and config.positions != Positions.RELATIVE


def _is_observed(*parts: nn.Module) -> bool:
    """Return whether a pass of this thread would call a hook of these modules.

    A hook with an attribute `thread` is called for that thread alone.
    """
    this, modules = threading.get_ident(), (module for part in parts for module in part.modules())
    hooked = [each for each in modules if each._forward_hooks or each._forward_pre_hooks]
    hooks = (hook for each in hooked for hook in (*each._forward_hooks.values(), *each._forward_pre_hooks.values()))
    of_all = nn.modules.module._global_forward_hooks, nn.modules.module._global_forward_pre_hooks
    return any(of_all) or any(getattr(hook, "thread", this) == this for hook in hooks)


class _Layer:
    """Current weights of a layer; a norm is a tuple of shape, gain, bias and epsilon."""

    def __init__(self, layer: EncoderLayer | DecoderLayer):
        attention, units = layer.self_attention, layer.feed_forward
        self.query_key_value, self.self_output = attention.query_key_value.product(), attention.output.product()
        self.self_norm, self.forward_norm = _norm(layer.self_attention_residual), _norm(layer.feed_forward_residual)
        self.inner, self.outer = units.inner.product(), units.outer.product()
        self.activate = torch.relu_ if isinstance(units.activate, nn.ReLU) else units.activate.forward
        if isinstance(layer, DecoderLayer):
            cross, width = layer.cross_attention, layer.cross_attention.width
            self.query, self.key_value = cross.query_key_value.product(0, width), cross.query_key_value.product(width)
            self.cross_output, self.cross_norm = cross.output.product(), _norm(layer.cross_attention_residual)

    def feed_forward(self, x: Tensor) -> Tensor:
        return self.outer(self.activate(self.inner(x)))


class FusedStep(Step):
    """Decoding step of a model whose shape `is_covered`, without its modules."""

    def __init__(self, model: Transformer):
        super().__init__(model)
        self.num_heads, self.norm_first = model.config.num_heads, model.config.norm == "pre"
        self.layers = [_Layer(layer) for layer in model.decoder]  # type: ignore[arg-type]
        self._on_cpu = model.device.type == "cpu" and model.dtype == torch.float32
        self._none_added = torch.zeros(1, 1, 1)
        self._unfilled = torch.full((ROOM, ROOM), -math.inf).triu(1)  # by length - 1
        self._bias: Tensor | None = None  # the source mask as an addend of the scores, for attention by products

    def start(self, sources: Sequence[Sequence[int]], capacity: int) -> list[LayerCache] | None:
        """Encode sentences side by side, without padding, and return the decoder's caches.

        None off the CPU, in half precision and with hooks: the caller then encodes through the modules.
        """
        model, lengths = self.model, list(map(len, sources))
        if not self._on_cpu or _is_observed(model.encoder_input, model.encoder, model.encoder_norm):
            return None
        order = sorted(range(len(sources)), key=lengths.__getitem__)
        rows = [sources[row] for row in order]
        rows += [[0]] * (padded(sum(lengths)) - sum(lengths))  # sentences of one token round the number of rows up
        groups = [(length, len(list(same))) for length, same in groupby(map(len, rows))]
        places, ids = torch.tensor([each for row in rows for each in enumerate(row)]).unbind(1)
        x = self._embed(model.encoder_input, ids, places, max(lengths))
        for layer in map(_Layer, model.encoder):  # type: ignore[arg-type]
            x = self._add(x, layer.self_norm, self._attend_within, layer, groups)
            x = self._add(x, layer.forward_norm, layer.feed_forward)
        x, first = model.encoder_norm(x), dict(zip(order, accumulate(map(len, rows), initial=0), strict=False))
        columns = range(max(lengths))  # positions after a sentence's end repeat its last token and are masked
        at = torch.tensor([[first[row] + min(at, end - 1) for at in columns] for row, end in enumerate(lengths)])
        both = (layer.key_value(x)[at].view(*at.shape, 2, self.num_heads, -1).transpose(1, 3) for layer in self.layers)
        return [LayerCache(each[:, :, 0], each[:, :, 1], capacity) for each in both]

    def hidden(self, tokens: Tensor, caches: list[LayerCache], source_mask: Tensor | None) -> Tensor:
        """Return the vectors that the output projection reads: [rows, d_model]."""
        self._bias = self._added(source_mask, caches[0].memory_key) if len(tokens) >= _MANY else None
        x = self._embed(self.model.decoder_input, tokens, caches[0].length, caches[0].length + 1)
        for layer, cache in zip(self.layers, caches, strict=True):
            x = self._add(x, layer.self_norm, self._attend_so_far, layer, cache)
            x = self._add(x, layer.cross_norm, self._attend_memory, layer, cache, source_mask)
            x = self._add(x, layer.forward_norm, layer.feed_forward)
        return self.model.decoder_norm(x)

    def _embed(self, first: StackInput, ids: Tensor, places: Tensor | int, room: int) -> Tensor:
        first.positions.require_room(room)
        x = F.embedding(ids, first.embedding.weight) * first.embedding.scale + first.positions.table[places]
        return first.norm(x)

    def _add(self, x: Tensor, norm: _Norm, sublayer: Callable[..., Tensor], *arguments: object) -> Tensor:
        if self.norm_first:
            return x + sublayer(torch.layer_norm(x, *norm), *arguments)
        return torch.layer_norm(x + sublayer(x, *arguments), *norm)

    def _attend_within(self, x: Tensor, layer: _Layer, groups: list[tuple[int, int]]) -> Tensor:
        """Attend within each sentence. groups: length and number of the sentences, in the order of the rows of x."""
        parts, attended = layer.query_key_value(x).split([length * count for length, count in groups]), []
        for (length, count), part in zip(groups, parts, strict=True):
            projected = part.view(count, length, 3, self.num_heads, -1).permute(2, 0, 3, 1, 4)
            attended.append(F.scaled_dot_product_attention(*projected).transpose(1, 2).reshape(len(part), -1))
        return layer.self_output(torch.cat(attended))

    def _attend_so_far(self, x: Tensor, layer: _Layer, cache: LayerCache) -> Tensor:
        query, key, value = layer.query_key_value(x).view(len(x), 3 * self.num_heads, 1, -1).chunk(3, dim=1)
        keys, values = cache.append(key, value)
        bias = None if self._bias is None else self._none_added
        if bias is not None and cache.length < ROOM:  # a softmax over fewer columns takes five times as long
            keys, values, bias = cache.key, cache.value, self._unfilled[cache.length - 1, : cache.key.shape[2]]
        return layer.self_output(self._attend(query, keys, values, None, bias).reshape(x.shape))

    def _attend_memory(self, x: Tensor, layer: _Layer, cache: LayerCache, mask: Tensor | None) -> Tensor:
        query = layer.query(x).view(len(x), self.num_heads, 1, -1)
        attended = self._attend(query, cache.memory_key, cache.memory_value, mask, self._bias)
        return layer.cross_output(attended.reshape(x.shape))

    def _attend(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, bias: Tensor | None) -> Tensor:
        """Attend from one query per row. bias: the mask as an addend of the scores, with which products are used."""
        if bias is None:
            return F.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        query, key, value = query.flatten(0, 1), key.flatten(0, 1), value.flatten(0, 1)
        scores = torch.baddbmm(bias, query, key.transpose(1, 2), alpha=1 / math.sqrt(query.shape[-1]))
        return scores.softmax(dim=2) @ value

    def _added(self, mask: Tensor | None, keys: Tensor) -> Tensor | None:
        """Return the mask as an addend of scores; None off the CPU, or where a row has no key, as softmax needs one."""
        if mask is None or not self._on_cpu or not mask.any(dim=-1).all():
            return self._none_added if mask is None and self._on_cpu else None
        return keys.new_zeros(keys.shape[:3]).unsqueeze(2).masked_fill_(~mask, -math.inf).flatten(0, 1)


class KeepingStep(FusedStep):
    """Decoding step that stores its final vectors and the query and output of each attention.

    The caches have the keys and values.
    """

    def __init__(self, model: Transformer):
        super().__init__(model)
        self.caches: list[LayerCache] = []
        self.vectors: list[Tensor] = []
        self._pairs: list[Tensor] = []

    def attended(self, layer: int) -> tuple[Tensor, ...]:
        """Return query and output of a layer's self-attention, then of its cross-attention, over all steps."""
        return tuple(
            torch.cat(self._pairs[at :: 4 * len(self.layers)], dim=2) for at in range(4 * layer, 4 * layer + 4)
        )

    def hidden(self, tokens: Tensor, caches: list[LayerCache], source_mask: Tensor | None) -> Tensor:
        """Return the vectors that the output projection reads, [rows, d_model], and store them."""
        self.caches = caches
        self.vectors.append(super().hidden(tokens, caches, source_mask))
        return self.vectors[-1]

    def _attend(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, bias: Tensor | None) -> Tensor:
        output = super()._attend(query, key, value, mask, bias)
        self._pairs += query, output
        return output


def _norm(residual: Residual) -> _Norm:
    norm = residual.norm
    return norm.normalized_shape, norm.weight, norm.bias, norm.eps  # type: ignore[return-value]
