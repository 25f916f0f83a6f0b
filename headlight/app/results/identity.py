"""Which weights a checkpoint has, so that a citation names the very ones."""

from pathlib import Path

from transformer.checkpoint import weights_digest

from . import CheckpointFiles, _cached


@_cached(max_entries=16, show_spinner=False)
def digest(checkpoint: CheckpointFiles) -> str:
    """The SHA-256 of a checkpoint's weights as they are now, in hexadecimal; raises CheckpointError without them."""
    return weights_digest(Path(checkpoint.folder))
