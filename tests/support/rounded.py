"""A shipped checkpoint, as files or in memory, with the weights that a live page has: rounded to one byte each."""

from pathlib import Path

from support.streams import CHECKPOINTS

from headlight.app.results import CheckpointFiles
from headlight.lessons.export import write_rounded
from transformer import Translator
from transformer.checkpoint import load_checkpoint
from transformer.exchange.int8 import round_weights


def rounded_checkpoint(folder: Path, name: str) -> CheckpointFiles:
    """Write the rounded checkpoint into a folder, under its own name and with what its heads do over a corpus."""
    write_rounded(CHECKPOINTS / name, folder / name)
    return CheckpointFiles.now(folder / name)


def rounded_translator(name: str) -> Translator:
    """The same model in PyTorch."""
    checkpoint = load_checkpoint(CHECKPOINTS / name)
    round_weights(checkpoint.model)
    return Translator(checkpoint)
