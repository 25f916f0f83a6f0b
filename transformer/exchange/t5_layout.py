"""Names of the weights of T5's models in Hugging Face's transformers (modeling_t5.py)."""

from collections.abc import Iterator

from ..config import FeedForwardType, ModelConfig
from .layout import Part

SHARED, OUTPUT = "shared.weight", "lm_head.weight"
ALIASES = ("encoder.embed_tokens.weight", "decoder.embed_tokens.weight")
# What files of the first release hold besides: a bias of cross-attention, which nothing read.
UNREAD = "decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight"


def t5_parts(config: ModelConfig) -> Iterator[Part]:
    """Every weight of a model, its output's own matrix among them where it has one."""
    yield Part("source_embedding.embedding.weight", (SHARED,))
    if config.separate_output:
        yield Part("output_projection.weight", (OUTPUT,))
    for stack, layers in (("encoder", config.num_encoder_layers), ("decoder", config.num_decoder_layers)):
        first = f"{stack}.block.0.layer.0.SelfAttention"
        yield Part(f"{stack}_relative.table", (f"{first}.relative_attention_bias.weight",))
        yield Part(f"{stack}_norm.weight", (f"{stack}.final_layer_norm.weight",))
        for number in range(layers):
            yield from _layer(f"{stack}.{number}", f"{stack}.block.{number}.layer", config)


def _layer(ours: str, theirs: str, config: ModelConfig) -> Iterator[Part]:
    kinds = [("self_attention", "SelfAttention"), ("cross_attention", "EncDecAttention")]
    attentions = kinds[: 2 if ours.startswith("decoder") else 1]
    for number, (kind, name) in enumerate(attentions):
        block = f"{theirs}.{number}.{name}"
        yield Part(f"{ours}.{kind}.query_key_value.weight", tuple(f"{block}.{each}.weight" for each in "qkv"))
        yield Part(f"{ours}.{kind}.output.weight", (f"{block}.o.weight",))
        yield Part(f"{ours}.{kind}_residual.norm.weight", (f"{theirs}.{number}.layer_norm.weight",))
    block = f"{theirs}.{len(attentions)}"
    inner = ("wi_0", "wi_1") if config.feed_forward == FeedForwardType.GATED else ("wi",)
    yield Part(f"{ours}.feed_forward.inner.weight", tuple(f"{block}.DenseReluDense.{each}.weight" for each in inner))
    yield Part(f"{ours}.feed_forward.outer.weight", (f"{block}.DenseReluDense.wo.weight",))
    yield Part(f"{ours}.feed_forward_residual.norm.weight", (f"{block}.layer_norm.weight",))
