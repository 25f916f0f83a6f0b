"""A shipped checkpoint with the weights that a live page has: rounded to one byte each."""

import shutil
from pathlib import Path

import torch
from support.streams import CHECKPOINTS

from headlight.app.batches import CheckpointFiles
from transformer.checkpoint import load_checkpoint, save_checkpoint
from transformer.exchange.int8 import round_weights


def rounded_checkpoint(folder: Path, name: str) -> CheckpointFiles:
    """Write the rounded checkpoint into a folder, under its own name and with what its heads do over a corpus."""
    shutil.copytree(CHECKPOINTS / name, folder / name)
    checkpoint = load_checkpoint(folder / name)
    round_weights(checkpoint.model)
    save_checkpoint(folder / name, checkpoint, torch.float32)
    return CheckpointFiles.now(folder / name)
