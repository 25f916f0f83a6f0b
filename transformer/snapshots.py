"""Weights of single steps on disk, and their mean."""

import logging
from pathlib import Path

from torch import Tensor, nn

from .errors import CheckpointError
from .files import load_sealed, save_sealed

logger = logging.getLogger(__name__)


def save_snapshot(folder: Path, model: nn.Module, step: int) -> None:
    """Keep this step's weights for averaging."""
    folder.mkdir(parents=True, exist_ok=True)
    save_sealed(_snapshot(folder, step), {name: p.detach() for name, p in model.named_parameters()})


def average_snapshots(folder: Path, steps: list[int]) -> dict[str, Tensor]:
    """The mean of these steps' weights (paper, 6.1); raises CheckpointError when one is missing or damaged."""
    mean: dict[str, Tensor] = {}
    for step in steps:
        for name, weight in load_sealed(_snapshot(folder, step)).items():
            mean[name] = mean[name] + weight / len(steps) if name in mean else weight / len(steps)
    return mean


def sound_snapshots(folder: Path, steps: list[int]) -> list[int]:
    """Those of these steps whose weights can be read; the log names the others, which a mean must do without."""
    sound = []
    for step in steps:
        try:
            load_sealed(_snapshot(folder, step))
            sound.append(step)
        except CheckpointError as error:
            logger.warning("%s The next mean of weights leaves step %d out.", error, step)
    return sound


def drop_snapshots(folder: Path, keep: list[int]) -> None:
    """Delete all snapshots but these steps'."""
    kept = {_snapshot(folder, step) for step in keep}
    for path in folder.glob("snapshot-*.safetensors"):
        if path not in kept:
            path.unlink()


def _snapshot(folder: Path, step: int) -> Path:
    return folder / f"snapshot-{step:07d}.safetensors"
