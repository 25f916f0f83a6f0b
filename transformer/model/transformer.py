"""The encoder-decoder Transformer of "Attention Is All You Need" (Vaswani et al. 2017)."""

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from ..arrays import require_index
from ..config import ModelConfig, Positions
from .attention import LayerCache, MultiHeadAttention, RelativePositions, causal_mask, padding_mask, target_mask
from .layers import (
    DecoderLayer,
    EncoderLayer,
    FeedForward,
    OutputProjection,
    PositionalEncoding,
    StackInput,
    TokenEmbedding,
    make_norm,
)
from .names import Stack


class TokenModel(nn.Module):
    """Base of the models: a configuration, and weights of which the last project vectors to logits."""

    config: ModelConfig
    output_projection: OutputProjection

    @torch.no_grad()
    def set_weights(self, weights: Mapping[str, Tensor]) -> None:
        """Copy the weights of these names; raises KeyError where one is missing."""
        for name, parameter in self.named_parameters():
            parameter.copy_(weights[name])

    @property
    def device(self) -> torch.device:
        """The device of the weights."""
        return self.output_projection.weight.device

    @property
    def dtype(self) -> torch.dtype:
        """The type of its weights, in which it computes."""
        return self.output_projection.weight.dtype

    def count_parameters(self) -> int:
        """Return the number of trained values, a shared matrix counted once."""
        return sum(parameter.numel() for parameter in self.parameters())


class Transformer(TokenModel):
    """Token ids of source and target in, logits of each next target token out (paper, figure 1)."""

    def __init__(self, config: ModelConfig):
        super().__init__()
        self.config = config
        width, scaled = config.d_model, config.scale_embeddings
        one_table = config.share_embeddings and not config.target_vocab_size
        # Checkpoints have these parts under these names, which come first; both inputs are made of them.
        self.source_embedding = TokenEmbedding(config.vocab_size, width, scaled=scaled)
        self.target_embedding = (
            self.source_embedding if one_table else TokenEmbedding(config.output_size, width, scaled=scaled)
        )
        self.positions = PositionalEncoding(config)
        learned = config.positions == Positions.LEARNED  # each side has a table of its own
        self.target_positions = PositionalEncoding(config) if learned else self.positions
        self.encoder_embedding_norm = make_norm(config) if config.embedding_norm else nn.Identity()
        self.decoder_embedding_norm = make_norm(config) if config.embedding_norm else nn.Identity()
        self.encoder_input = StackInput(self.source_embedding, self.positions, self.encoder_embedding_norm)
        self.decoder_input = StackInput(self.target_embedding, self.target_positions, self.decoder_embedding_norm)
        self.encoder = nn.ModuleList(EncoderLayer(config) for _ in range(config.num_encoder_layers))
        self.decoder = nn.ModuleList(DecoderLayer(config) for _ in range(config.num_decoder_layers))
        relative = config.positions == Positions.RELATIVE  # what all layers of a stack add to their scores
        ranges = config.num_heads, config.relative_buckets, config.relative_distance
        self.encoder_relative = RelativePositions(*ranges, both_ways=True) if relative else None
        self.decoder_relative = RelativePositions(*ranges, both_ways=False) if relative else None
        # Pre-norm leaves the last sum of each stack unnormalised; post-norm has nothing left to do.
        self.encoder_norm = make_norm(config) if config.norm == "pre" else nn.Identity()
        self.decoder_norm = make_norm(config) if config.norm == "pre" else nn.Identity()
        scale = width**-0.5 if config.scale_output else 1.0
        self.output_projection = OutputProjection(width, config.output_size, bias=config.output_bias, scale=scale)
        if config.ties_output:
            self.output_projection.weight = self.target_embedding.embedding.weight
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Xavier-uniform for projections; N(0, 1/d_model) for embeddings, which sqrt(d_model) scales to variance 1, and
        for positions that are learned, relative ones among them."""
        nn.init.xavier_uniform_(self.output_projection.weight)
        if self.output_projection.bias is not None:
            nn.init.zeros_(self.output_projection.bias)
        for module in self.modules():
            if isinstance(module, MultiHeadAttention | FeedForward):
                module.reset_parameters()
            elif isinstance(module, RelativePositions):
                nn.init.normal_(module.table, std=self.config.d_model**-0.5)
            elif isinstance(module, nn.Embedding):
                nn.init.normal_(module.weight, std=self.config.d_model**-0.5)
            elif isinstance(module, PositionalEncoding) and self.config.positions == Positions.LEARNED:
                nn.init.normal_(module.table, std=self.config.d_model**-0.5)

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        """Teacher forcing: source [batch, source], decoder input [batch, target] -> logits [batch, target, vocab]."""
        return self.output_projection(self.last_vectors(source, target))

    def last_vectors(self, source: Tensor, target: Tensor) -> Tensor:
        """Return what `forward` projects to logits: [batch, target, d_model]."""
        source_mask = padding_mask(source, self.config.pad_id)
        memory = self.encode(source, source_mask)
        return self.decode(target, memory, target_mask(target, self.config.pad_id), source_mask)

    def encode(self, source: Tensor, source_mask: Tensor | None) -> Tensor:
        """[batch, source] -> the memory, [batch, source, d_model]."""
        x, bias = self.encoder_input(source), self.score_bias(Stack.ENCODER, source.shape[1])
        for layer in self.encoder:
            x = layer(x, source_mask, bias)
        return self.encoder_norm(x)

    def decode(self, target: Tensor, memory: Tensor, target_mask: Tensor | None, source_mask: Tensor | None) -> Tensor:
        """[batch, target] -> the vectors before the output projection, [batch, target, d_model]."""
        x, bias = self.decoder_input(target), self.score_bias(Stack.DECODER, target.shape[1])
        for layer in self.decoder:
            x = layer(x, memory, target_mask, source_mask, bias)
        return self.decoder_norm(x)

    def score_bias(self, stack: Stack, length: int, new: int | None = None) -> Tensor | None:
        """Return what the last `new` of so many positions add to their scores in self-attention, None for nothing.

        -> [1, heads, new, length]; of all positions where `new` is None.
        """
        relative = self.encoder_relative if stack is Stack.ENCODER else self.decoder_relative
        return None if relative is None else relative(new or length, length)

    def start_caches(self, memory: Tensor, capacity: int) -> list[LayerCache]:
        """One cache a decoder layer for `capacity` target tokens of the sentences in `memory`."""
        return [layer.start_cache(memory, capacity) for layer in self.decoder]  # type: ignore[operator]

    def step(self, target: Tensor, caches: list[LayerCache], source_mask: Tensor | None) -> Tensor:
        """Logits [batch, vocab] after the newest tokens [batch, new]: the last row of the full pass over all so far."""
        return self.output_projection(self.newest(target, caches, source_mask))

    def newest(self, target: Tensor, caches: list[LayerCache], source_mask: Tensor | None) -> Tensor:
        """Return the last of the vectors that `step` projects to logits: [batch, d_model]."""
        new = target.shape[1]
        length = caches[0].length + new
        # One new query sees every cached key. Several need their own rows of the causal mask.
        mask = None if new == 1 else causal_mask(length, target.device)[-new:]
        bias = self.score_bias(Stack.DECODER, length, new)
        x = self.decoder_input(target, length - new)
        for layer, cache in zip(self.decoder, caches, strict=True):
            x = layer.step(x, cache, mask, source_mask, bias)  # type: ignore[operator]
        return self.decoder_norm(x[:, -1])

    def layer(self, stack: Stack | str, number: int) -> EncoderLayer | DecoderLayer:
        """Return a layer, counted from 0; raises ValueError for one that is not there."""
        layers = getattr(self, Stack(stack))
        require_index("layer", number, len(layers))
        return layers[number]
