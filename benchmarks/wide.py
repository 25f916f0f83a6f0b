"""A checkpoint of NLLB-600M's shape with random weights: 12 + 12 layers of 16 heads, 1024 wide, the tokens of en-de.

What the pages are timed with where a model has three kinds of 192 heads. Its translations mean nothing and never end,
so it has few positions: each is as long as they allow.
"""

import dataclasses
from pathlib import Path

import torch

from transformer.checkpoint import Checkpoint, load_checkpoint, save_checkpoint
from transformer.config import ModelConfig
from transformer.model.transformer import Transformer

NAME = "wide"
LAYERS, HEADS = 12, 16
POSITIONS = 32


def write_wide(folder: Path, like: Path) -> None:
    """Write the checkpoint `NAME` into a folder of checkpoints, with the tokenizer of another: 0.7 GB."""
    own = load_checkpoint(like)
    layers = {"num_encoder_layers": LAYERS, "num_decoder_layers": LAYERS, "max_length": POSITIONS}
    shape = {"num_heads": HEADS, "d_model": 1024, "d_ff": 4096, "norm": "pre"}
    config = ModelConfig(**dataclasses.asdict(own.model.config) | layers | shape)
    torch.manual_seed(1)
    save_checkpoint(folder / NAME, Checkpoint(Transformer(config).eval(), own.tokenizer, own.training))
