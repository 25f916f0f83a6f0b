"""The layers of the Transformer: positions, embedding, feed-forward, residual, encoder and decoder layer."""

import math
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor, nn

from ..config import Activation, FeedForwardType, ModelConfig, NormType, Positions
from .attention import LayerCache, MultiHeadAttention
from .linear import Linear
from .rough_choice import RoughChoice, largest_exact_digit

MULTIPLIED_BASE = 1e-4  # 1 / 10000, for the exponent changes its sign
_ACTIVATIONS: dict[Activation, Callable[[], nn.Module]] = {
    Activation.RELU: nn.ReLU,
    Activation.GELU: nn.GELU,
    Activation.GELU_NEW: partial(nn.GELU, approximate="tanh"),
    Activation.SILU: nn.SiLU,
}
NORMS = (nn.LayerNorm, nn.RMSNorm)  # what `make_norm` makes


def make_norm(config: ModelConfig) -> nn.Module:
    """Return a LayerNorm, or an RMSNorm, of a model's vectors."""
    kind = nn.RMSNorm if config.norm_type == NormType.RMS else nn.LayerNorm
    return kind(config.d_model, eps=config.norm_epsilon)


def norm_bias(norm: nn.Module) -> Tensor:
    """Return what a norm adds: beta, [d_model], of an RMSNorm zeros."""
    assert isinstance(norm, NORMS)
    return norm.bias if isinstance(norm, nn.LayerNorm) else torch.zeros_like(norm.weight)


def make_attention(config: ModelConfig) -> MultiHeadAttention:
    """Return an attention of a model's shape."""
    width, heads, size = config.d_model, config.num_heads, config.head_size
    return MultiHeadAttention(width, heads, head_size=size, bias=config.bias, scaled=config.scale_scores)


def make_feed_forward(config: ModelConfig) -> "FeedForward":
    """Return a feed-forward of a model's shape."""
    gated = config.feed_forward == FeedForwardType.GATED
    return FeedForward(config.d_model, config.d_ff, config.activation, gated=gated, bias=config.bias)


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
    if config.positions in (Positions.NONE, Positions.RELATIVE):
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


class Gate(nn.Module):
    """An activation of the first half of what it is given, times the second half (Shazeer 2020)."""

    def __init__(self, activation: nn.Module):
        super().__init__()
        self.activation = activation

    def forward(self, x: Tensor) -> Tensor:
        """[..., 2 d_ff] -> [..., d_ff]."""
        activated, factor = x.chunk(2, dim=-1)
        product: Tensor = self.activation(activated) * factor
        return product


class FeedForward(nn.Module):
    """max(0, x W_1 + b_1) W_2 + b_2, for each position alike (paper, eq. 2), or with another activation than ReLU.

    The activation is a module of its own, without parameters, so that a forward hook sees the hidden units. Where it is
    `gated`, `inner` has two matrices under one another, and the second's outputs are what the activated are times.
    """

    def __init__(
        self,
        d_model: int,
        d_ff: int,
        activation: Activation = Activation.RELU,
        *,
        gated: bool = False,
        bias: bool = True,
    ):
        super().__init__()
        function = _ACTIVATIONS[activation]()
        self.activate = Gate(function) if gated else function
        self.inner = Linear(d_model, (1 + gated) * d_ff, bias=bias)
        self.outer = Linear(d_ff, d_model, bias=bias)

    def forward(self, x: Tensor) -> Tensor:
        """[batch, length, d_model] -> the same shape."""
        return self.outer(self.activate(self.inner(x)))

    def reset_parameters(self) -> None:
        """Xavier-uniform for each matrix; biases zero."""
        for matrix in (*self.inner.weight.data.split(self.outer.in_features), self.outer.weight):
            nn.init.xavier_uniform_(matrix)
        for linear in (self.inner, self.outer):
            if linear.bias is not None:
                nn.init.zeros_(linear.bias)


class Residual(nn.Module):
    """A sub-layer, its residual connection, dropout, and LayerNorm after the sum (paper, 5.4) or before all."""

    def __init__(self, config: ModelConfig):
        super().__init__()
        self.norm = make_norm(config)
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
        self.self_attention = make_attention(config)
        self.feed_forward = make_feed_forward(config)
        self.self_attention_residual = Residual(config)
        self.feed_forward_residual = Residual(config)

    def forward(self, x: Tensor, source_mask: Tensor | None, bias: Tensor | None = None) -> Tensor:
        """x: [batch, source, d_model], source_mask: [batch, 1, 1, source] -> like x.

        bias: [1, heads, source, source], what relative positions add to the scores.
        """
        x = self.self_attention_residual(x, lambda y: self.self_attention(y, y, source_mask, bias))
        return self.feed_forward_residual(x, self.feed_forward)

    def step(self, x: Tensor, cache: LayerCache, mask: Tensor | None) -> Tensor:
        """Compute the same for the newest tokens alone in a causal stack, earlier keys and values from the cache."""
        x = self.self_attention_residual(x, lambda y: self.self_attention.attend_so_far(y, cache, mask))
        return self.feed_forward_residual(x, self.feed_forward)


class DecoderLayer(nn.Module):
    """Masked self-attention over the target, cross-attention to the memory, feed-forward (paper, 3.1)."""

    def __init__(self, config: ModelConfig):
        super().__init__()
        self.self_attention = make_attention(config)
        self.cross_attention = make_attention(config)
        self.feed_forward = make_feed_forward(config)
        self.self_attention_residual = Residual(config)
        self.cross_attention_residual = Residual(config)
        self.feed_forward_residual = Residual(config)

    def forward(
        self,
        x: Tensor,
        memory: Tensor,
        target_mask: Tensor | None,
        source_mask: Tensor | None,
        bias: Tensor | None = None,
    ) -> Tensor:
        """x: [batch, target, d_model], memory: [batch, source, d_model] -> like x.

        bias: [1, heads, target, target], what relative positions add to the scores of self-attention.
        """
        x = self.self_attention_residual(x, lambda y: self.self_attention(y, y, target_mask, bias))
        x = self.cross_attention_residual(x, lambda y: self.cross_attention(y, memory, source_mask))
        return self.feed_forward_residual(x, self.feed_forward)

    def start_cache(self, memory: Tensor, capacity: int) -> LayerCache:
        """Project the memory once and make room for `capacity` target tokens."""
        return LayerCache(*self.cross_attention.project_memory(memory), capacity)

    def step(
        self,
        x: Tensor,
        cache: LayerCache,
        target_mask: Tensor | None,
        source_mask: Tensor | None,
        bias: Tensor | None = None,
    ) -> Tensor:
        """Compute the same for the newest tokens alone, earlier keys and values taken from the cache."""
        attention = self.self_attention
        x = self.self_attention_residual(x, lambda y: attention.attend_so_far(y, cache, target_mask, bias))
        x = self.cross_attention_residual(x, lambda y: self._attend_memory(y, cache, source_mask))
        return self.feed_forward_residual(x, self.feed_forward)

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
        mask = (bits >= dropped - _STEPS // 2).to(x.dtype)
        return x * mask.mul_(_STEPS / (_STEPS - dropped))


class OutputProjection(Linear):
    """x W^T, W [vocab, d_model] (paper, 3.4), plus a bias where a model has one; x times `scale` first (T5)."""

    most_copied = 64_000_000  # 256 MB: a gigabyte beside the 2.4 of NLLB-600M (256,206 x 1,024) is too much

    def __init__(self, d_model: int, vocab_size: int, *, bias: bool = False, scale: float = 1.0):
        super().__init__(d_model, vocab_size, bias=bias)
        self.scale = scale

    def forward(self, x: Tensor) -> Tensor:
        """[..., d_model] -> [..., vocab]."""
        return super().forward(self.scaled(x))

    def scaled(self, x: Tensor) -> Tensor:
        """Return what W is multiplied with."""
        return x if self.scale == 1 else x * self.scale

    def rough_choice(self) -> RoughChoice | None:
        """Return what finds the greatest logit without all of them; None where it would not pay or miss a hook."""
        if self.bias is not None or self._forward_hooks or self._forward_pre_hooks or not largest_exact_digit():
            return None
        copies = self.copies()
        return None if copies is None else copies.rough
