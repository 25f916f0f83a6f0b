"""How many parameters the same layers have at other widths."""

from collections.abc import Sequence
from dataclasses import replace

from .config import ModelConfig

WIDTHS = (128, 256, 512, 1024)


def parameters_at(config: ModelConfig, widths: Sequence[int]) -> dict[int, int]:
    """Parameters of a model of this shape with each d_model instead and d_ff growing alike, where heads divide it.

    Counted from the layers' shapes: embeddings, 4 d_model^2 + 4 d_model an attention, 2 d_model d_ff + d_ff + d_model a
    feed-forward, 2 d_model a LayerNorm (paper, 3.2 to 3.4).
    """
    return {width: _count(_widened(config, width)) for width in widths if width % config.num_heads == 0}


def _widened(config: ModelConfig, width: int) -> ModelConfig:
    return replace(config, d_model=width, d_ff=config.d_ff * width // config.d_model)


def _count(config: ModelConfig) -> int:
    d, ff = config.d_model, config.d_ff
    attention, feed_forward, norm = 4 * d * d + 4 * d, 2 * d * ff + ff + d, 2 * d
    encoder = config.num_encoder_layers * (attention + feed_forward + 2 * norm)
    decoder = config.num_decoder_layers * (2 * attention + feed_forward + 3 * norm)
    last = 2 * norm if config.norm == "pre" else 0
    return (1 if config.share_embeddings else 3) * config.vocab_size * d + encoder + decoder + last
