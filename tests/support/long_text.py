"""A checkpoint for texts of 512 tokens, as summaries are made of, and such a text."""

from pathlib import Path

import torch

from transformer.checkpoint import save_checkpoint
from transformer.exchange.importing import import_checkpoint

from .t5 import write_t5

NAME = "summaries"
TEXT = " ".join(["red dog sees the small house and"] * 60)[:1395]
HALF = TEXT[:600]  # its weights, too, are more than are sent at once
_SHAPE = {"d_model": 32, "d_kv": 4, "d_ff": 32, "num_layers": 6, "num_decoder_layers": 6, "num_heads": 8}


def write_summarizer(made: Path, folder: Path) -> None:
    """A checkpoint like T5's of random weights, 6 + 6 layers of 8 heads; `made` is an empty folder on the way."""
    write_t5(made, "t5", n_positions=512, **_SHAPE)
    save_checkpoint(folder / NAME, import_checkpoint(made), torch.float32)
