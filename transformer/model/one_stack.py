"""The translator as one causal stack, as GPT-2 reads text (Radford et al. 2019), of the encoder's layers.

One row of tokens, `source </s> <s> target`, is read from left to right: nothing is attended to that comes later. The
layers are those of Vaswani et al. 2017, section 3, with LayerNorm before each sub-layer (GPT-2, section 2.3).
"""

from torch import Tensor, nn

from ..config import ModelConfig
from .attention import LayerCache, MultiHeadAttention, causal_mask
from .layers import (
    EncoderLayer,
    FeedForward,
    OutputProjection,
    PositionalEncoding,
    StackInput,
    TokenEmbedding,
    make_norm,
)
from .transformer import TokenModel


class OneStack(TokenModel):
    """Token ids of `source </s> <s> target` in, logits of each next token out.

    The configuration's `num_encoder_layers` are the layers of the stack, and `max_length` counts the whole row. The
    embedding is the output projection, too.
    """

    def __init__(self, config: ModelConfig):
        super().__init__()
        self.config = config
        self.embedding = TokenEmbedding(config.vocab_size, config.d_model)
        self.positions = PositionalEncoding(config)
        self.input = StackInput(self.embedding, self.positions, nn.Identity())
        self.layers = nn.ModuleList(EncoderLayer(config) for _ in range(config.num_encoder_layers))
        self.norm = make_norm(config)
        self.output_projection = OutputProjection(config.d_model, config.vocab_size)
        self.output_projection.weight = self.embedding.embedding.weight
        nn.init.normal_(self.embedding.embedding.weight, std=config.d_model**-0.5)
        for module in self.modules():
            if isinstance(module, MultiHeadAttention | FeedForward):
                module.reset_parameters()

    def forward(self, ids: Tensor, mask: Tensor | None = None) -> Tensor:
        """[batch, length] -> logits [batch, length, vocab]; mask: of `row_mask`, causal without one."""
        return self.output_projection(self.last_vectors(ids, mask))

    def last_vectors(self, ids: Tensor, mask: Tensor | None = None) -> Tensor:
        """Return what `forward` projects to logits: [batch, length, d_model]."""
        x, mask = self.input(ids), causal_mask(ids.shape[1], ids.device) if mask is None else mask
        for layer in self.layers:
            x = layer(x, mask)
        return self.norm(x)

    def start_caches(self, batch: int, capacity: int) -> list[LayerCache]:
        """Return one cache per layer for `capacity` tokens; there is no memory beside the row itself."""
        no_memory = self.output_projection.weight.new_zeros(batch, self.config.num_heads, 0, self.config.d_k)
        return [LayerCache(no_memory, no_memory, capacity) for _ in self.layers]

    def step(self, ids: Tensor, caches: list[LayerCache], mask: Tensor | None = None) -> Tensor:
        """Logits [batch, vocab] after the newest tokens [batch, new]: the last row of the full pass over all so far.

        mask: [new, all so far]; without one causal.
        """
        start = caches[0].length
        if mask is None:
            mask = causal_mask(start + ids.shape[1], ids.device)[start:]
        x = self.input(ids, start)
        for layer, cache in zip(self.layers, caches, strict=True):
            x = layer.step(x, cache, mask)  # type: ignore[operator]
        return self.output_projection(self.norm(x[:, -1]))


def row_mask(length: int, source: int, *, prefix: bool = False) -> Tensor:
    """Return True where a query may attend: the causal mask [length, length].

    prefix: True to open the block of the first `source` tokens to each other, as a prefix language model has it
    (Raffel et al. 2020, 3.2.1). No shipped model was trained so.
    """
    mask = causal_mask(length)
    if prefix:
        mask[:source, :source] = True
    return mask
