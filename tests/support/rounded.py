"""A shipped checkpoint, as files or in memory, with the weights that a live page has: rounded to one byte each."""

import shutil
from pathlib import Path

import torch
from support.streams import CHECKPOINTS

from headlight.app.batches import CheckpointFiles
from transformer import Translator
from transformer.checkpoint import Checkpoint, load_checkpoint, save_checkpoint
from transformer.exchange.int8 import round_weights


def rounded_checkpoint(folder: Path, name: str) -> CheckpointFiles:
    """Write the rounded checkpoint into a folder, under its own name and with what its heads do over a corpus."""
    shutil.copytree(CHECKPOINTS / name, folder / name)
    save_checkpoint(folder / name, _rounded(name), torch.float32)
    return CheckpointFiles.now(folder / name)


def rounded_translator(name: str) -> Translator:
    """The same model in PyTorch."""
    return Translator(_rounded(name))


def _rounded(name: str) -> Checkpoint:
    checkpoint = load_checkpoint(CHECKPOINTS / name)
    round_weights(checkpoint.model)
    return checkpoint
