"""The layers of the Transformer: positions, embedding, feed-forward, residual, encoder and decoder layer."""

import math
from collections.abc import Callable
from functools import cached_property
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..config import Activation, ModelConfig, Positions
from .attention import LayerCache, MultiHeadAttention
from .products import Linear, onednn_product

MULTIPLIED_BASE = 1e-4  # 1 / 10000, for the exponent changes its sign
_ACTIVATIONS = {Activation.RELU: nn.ReLU, Activation.GELU: nn.GELU, Activation.SILU: nn.SiLU}


def sinusoidal_positions(length: int, d_model: int, base: float = 10000.0) -> Tensor:
    """Sine, cosine of pos / base^(2i/d_model) in turn (paper, 3.5): [length, d_model]; ValueError for odd d_model."""
    if d_model % 2:
        raise ValueError(f"d_model must be even: every sine has its cosine, got {d_model}")
    position = torch.arange(length, dtype=torch.float64)[:, None]
    frequency = base ** (-torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
    angle = position * frequency  # length d_model/2
    return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(-2).float()


def multiplied_positions(length: int, d_model: int) -> Tensor:
    """Return the sinusoids with a slip: pos times 10000^(2i/d_model), where it should be divided by it.

    -> [length, d_model], float32. A reader of the Annotated Transformer made it and found copying learned the sooner
    (harvardnlp/annotated-transformer, issue 131). Neighbours are no longer alike: the law of rotation still holds, but
    most pairs turn by more than a full circle a step.
    """
    return sinusoidal_positions(length, d_model, base=MULTIPLIED_BASE)


def position_table(config: ModelConfig) -> Tensor:
    """Return what a model whose positions are computed adds to its embeddings: [max_length, d_model], float32."""
    first, length, d_model = config.first_position, config.max_length, config.d_model
    if config.positions == Positions.NONE:
        return torch.zeros(length, d_model)
    if config.positions == Positions.MULTIPLIED:
        return multiplied_positions(first + length, d_model)[first:]
    return sinusoidal_positions(first + length, d_model, config.position_base)[first:]


class PositionalEncoding(nn.Module):
    """Adds the table of positions to the embeddings and drops out the sum (paper, 3.5 and 5.4)."""

    def __init__(self, config: ModelConfig):
        super().__init__()
        self.dropout = Dropout(config.dropout)
        table = torch.zeros(config.max_length, config.d_model)
        if config.positions == Positions.LEARNED:
            self.table = nn.Parameter(table)
            return
        # A function of its shape, not a weight: it need not be stored with them.
        self.register_buffer("table", table, persistent=False)
        if not table.is_meta:  # on meta, only shapes are asked for
            self.table.copy_(position_table(config))

    def forward(self, x: Tensor, start: int = 0) -> Tensor:
        """x: [batch, length, d_model], its first token at position `start` -> the same shape."""
        end = start + x.shape[1]
        self.require_room(end)
        return self.dropout(x + self.table[start:end])

    def require_room(self, positions: int) -> None:
        """Raise ValueError where the table has fewer positions."""
        if positions > len(self.table):
            raise ValueError(f"{positions} positions asked for, the model has {len(self.table)}")


class TokenEmbedding(nn.Module):
    """Rows of a matrix by token id, times sqrt(d_model) (paper, 3.4), or as they are."""

    def __init__(self, vocab_size: int, d_model: int, *, scaled: bool = True):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, d_model)
        self.scale = math.sqrt(d_model) if scaled else 1.0

    @property
    def weight(self) -> Tensor:
        """The matrix: [vocab_size, d_model]."""
        return self.embedding.weight

    def forward(self, ids: Tensor) -> Tensor:
        """[batch, length] -> [batch, length, d_model]."""
        return self.embedding(ids) * self.scale


class StackInput(nn.Module):
    """Make what a stack's first layer is given: token embeddings plus positions, normalised where a LayerNorm follows.

    Each stack has its own, even where both share the embedding or the positions, so that one name means one call.
    """

    def __init__(self, embedding: TokenEmbedding, positions: PositionalEncoding, norm: nn.Module):
        super().__init__()
        self.embedding = embedding
        self.positions = positions
        self.norm = norm

    def forward(self, ids: Tensor, start: int = 0) -> Tensor:
        """ids: [batch, length], the first of them at position `start` -> [batch, length, d_model]."""
        return self.norm(self.positions(self.embedding(ids), start))


class FeedForward(nn.Module):
    """max(0, x W_1 + b_1) W_2 + b_2, for each position alike (paper, eq. 2), or with another activation than ReLU.

    The activation is a module of its own, without parameters, so that a forward hook sees the hidden units.
    """

    def __init__(self, d_model: int, d_ff: int, activation: Activation = Activation.RELU):
        super().__init__()
        self.activate = _ACTIVATIONS[activation]()
        self.inner = Linear(d_model, d_ff)
        self.outer = Linear(d_ff, d_model)

    def forward(self, x: Tensor) -> Tensor:
        """[batch, length, d_model] -> the same shape."""
        return self.outer(self.activate(self.inner(x)))


class Residual(nn.Module):
    """A sub-layer, its residual connection, dropout, and LayerNorm after the sum (paper, 5.4) or before all."""

    def __init__(self, config: ModelConfig):
        super().__init__()
        self.norm = nn.LayerNorm(config.d_model)
        self.dropout = Dropout(config.dropout)
        self.norm_first = config.norm == "pre"

    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        """Post-norm: LayerNorm(x + Dropout(Sublayer(x))); pre-norm: x + Dropout(Sublayer(LayerNorm(x)))."""
        y = sublayer(self.norm(x) if self.norm_first else x)
        if self.training:  # else the identity, and a decoding step would ask for it nine times
            y = self.dropout(y)
        return x + y if self.norm_first else self.norm(x + y)


class EncoderLayer(nn.Module):
    """Self-attention over the source, then feed-forward (paper, 3.1)."""

    def __init__(self, config: ModelConfig):
        super().__init__()
        self.self_attention = MultiHeadAttention(config.d_model, config.num_heads)
        self.feed_forward = FeedForward(config.d_model, config.d_ff, config.activation)
        self.self_attention_residual = Residual(config)
        self.feed_forward_residual = Residual(config)

    def forward(self, x: Tensor, source_mask: Tensor | None) -> Tensor:
        """x: [batch, source, d_model], source_mask: [batch, 1, 1, source] -> like x."""
        x = self.self_attention_residual(x, lambda y: self.self_attention(y, y, source_mask))
        return self.feed_forward_residual(x, self.feed_forward)


class DecoderLayer(nn.Module):
    """Masked self-attention over the target, cross-attention to the memory, feed-forward (paper, 3.1)."""

    def __init__(self, config: ModelConfig):
        super().__init__()
        self.self_attention = MultiHeadAttention(config.d_model, config.num_heads)
        self.cross_attention = MultiHeadAttention(config.d_model, config.num_heads)
        self.feed_forward = FeedForward(config.d_model, config.d_ff, config.activation)
        self.self_attention_residual = Residual(config)
        self.cross_attention_residual = Residual(config)
        self.feed_forward_residual = Residual(config)

    def forward(self, x: Tensor, memory: Tensor, target_mask: Tensor | None, source_mask: Tensor | None) -> Tensor:
        """x: [batch, target, d_model], memory: [batch, source, d_model] -> like x."""
        x = self.self_attention_residual(x, lambda y: self.self_attention(y, y, target_mask))
        x = self.cross_attention_residual(x, lambda y: self.cross_attention(y, memory, source_mask))
        return self.feed_forward_residual(x, self.feed_forward)

    def start_cache(self, memory: Tensor, capacity: int) -> LayerCache:
        """Project the memory once and make room for `capacity` target tokens."""
        return LayerCache(*self.cross_attention.project_memory(memory), capacity)

    def step(self, x: Tensor, cache: LayerCache, target_mask: Tensor | None, source_mask: Tensor | None) -> Tensor:
        """Compute the same for the newest tokens alone, earlier keys and values taken from the cache."""
        x = self.self_attention_residual(x, lambda y: self._attend_so_far(y, cache, target_mask))
        x = self.cross_attention_residual(x, lambda y: self._attend_memory(y, cache, source_mask))
        return self.feed_forward_residual(x, self.feed_forward)

    def _attend_so_far(self, x: Tensor, cache: LayerCache, mask: Tensor | None) -> Tensor:
        query, key, value = self.self_attention.project(x)
        return self.self_attention.attend(query, *cache.append(key, value), mask)

    def _attend_memory(self, x: Tensor, cache: LayerCache, mask: Tensor | None) -> Tensor:
        query = self.cross_attention.project_query(x)
        return self.cross_attention.attend(query, cache.memory_key, cache.memory_value, mask)


_STEPS = 65536  # values of the 16 random bits spent on each element


class Dropout(nn.Dropout):
    """torch.nn.Dropout (paper, 5.4; Srivastava et al. 2014), drawn faster while training on a CPU.

    PyTorch draws one double a value there, on one thread, which took a fifth of a training step. Here each 64-bit
    draw serves four values, so p is rounded to a multiple of 1/65536. Elsewhere this is torch.nn.Dropout.
    """

    def forward(self, x: Tensor) -> Tensor:
        """Zero each value with probability p and scale the others by 1/(1 - p); the identity in eval mode."""
        if not self.training or self.p == 0:
            return x
        if x.device.type != "cpu":
            return super().forward(x)
        dropped = min(round(self.p * _STEPS), _STEPS - 1)
        draws = torch.empty(-(-x.numel() // 4), dtype=torch.int64).random_(-(2**63), None)
        bits = draws.view(torch.int16)[: x.numel()].view(x.shape)
        kept = (bits >= dropped - _STEPS // 2).to(x.dtype)
        return x * kept.mul_(_STEPS / (_STEPS - dropped))


# Of how many values copies are kept: 256 MB each. A gigabyte beside the 2.4 of NLLB-600M (256,206 x 1,024) is too much.
_MOST_COPIED = 64_000_000
_ROWS_AT_ONCE = 16  # oneDNN compiles a program for each number of rows, of half a megabyte
_MOST_ROWS = 256  # with more, PyTorch's own product is as fast


class OutputProjection(nn.Linear):
    """x W^T, W [vocab, d_model] (paper, 3.4), plus a bias where a model has one.

    On a CPU, PyTorch rearranges the whole matrix for each product with a few rows. The weight must stay as it is where
    it is shared with the embeddings, so copies that have been rearranged once are kept for as long as it does not
    change, unless they were too large. On one thread of an EPYC with AVX-512, 12,000 x 256 with 1, 4, 12 and 40 rows
    takes 0.3, 0.3, 0.8 and 3.0 ms instead of 0.7, 2.3, 2.7 and 4.4.
    """

    def __init__(self, d_model: int, vocab_size: int, *, bias: bool = False):
        super().__init__(d_model, vocab_size, bias=bias)
        self._copies: _Copies | None = None

    def forward(self, x: Tensor) -> Tensor:
        """[..., d_model] -> [..., vocab]."""
        if torch.is_grad_enabled():
            return F.linear(x, *self.learned())
        if self._may_be_copied() and 0 < x.shape[:-1].numel() <= _MOST_ROWS:
            return self._up_to_date().multiply(x, self.bias)
        return super().forward(x)

    def learned(self) -> tuple[Tensor, Tensor | None]:
        """Weight and bias for an update. It drops the copies: a fused optimizer changes weights without counting it."""
        self._copies = None
        return self.weight, self.bias

    def __getstate__(self) -> dict[str, Any]:
        """All but the copies, which are made anew: one of them cannot be copied by Python."""
        return {**super().__getstate__(), "_copies": None}

    def _may_be_copied(self) -> bool:
        # A weight made in inference mode does not count its changes, so a copy of it could grow stale.
        weight = self.weight
        return weight.device.type == "cpu" and weight.numel() <= _MOST_COPIED and not weight.is_inference()

    def _up_to_date(self) -> "_Copies":
        # Assigned whole, so that threads which race for it get one that is right.
        copies = self._copies
        if copies is None or not copies.are_of(self.weight):
            self._copies = copies = _Copies(self.weight)
        return copies


class _Copies:
    """A weight [vocab, d_model] in other arrangements, each made when it is first needed."""

    def __init__(self, weight: Tensor):
        self._weight, self._state = weight.detach(), (weight.data_ptr(), weight._version)

    def are_of(self, weight: Tensor) -> bool:
        """Whether the weight is still the one they were made of."""
        return self._state == (weight.data_ptr(), weight._version)

    def multiply(self, x: Tensor, bias: Tensor | None) -> Tensor:
        """x [..., d_model] W^T plus the bias, [..., vocab]."""
        rows = x.reshape(-1, x.shape[-1])
        if (
            len(rows) == 1 or onednn_product is None or x.dtype != torch.float32
        ):  # a single row is faster without oneDNN
            return F.linear(x, self._columns.t(), bias)
        parts = [onednn_product(each, self._blocks, bias, "none", [], "") for each in rows.split(_ROWS_AT_ONCE)]
        return (torch.cat(parts) if len(parts) > 1 else parts[0]).view(*x.shape[:-1], -1)

    @cached_property
    def _columns(self) -> Tensor:
        """W^T, [d_model, vocab] in memory."""
        return self._weight.t().contiguous()

    @cached_property
    def _blocks(self) -> Tensor:
        """W in the blocks in which oneDNN reads it."""
        return torch.ops.mkldnn._reorder_linear_weight(self._weight)
