"""What a checkpoint says of its training."""

from dataclasses import asdict

import torch

from .config import Experiment
from .device import describe_device
from .parallel import Processes
from .progress import Progress
from .scoring import Score


def describe_place(device: torch.device, processes: Processes) -> str:
    """Where a run computes, in words."""
    place = describe_device(device)
    return place if processes.count == 1 else f"{processes.count} processes, each on {place}"


def describe_run(experiment: Experiment, progress: Progress, score: Score, place: str, pairs: int) -> dict:
    """The training.json of the newest validation's weights, which scored `score`, learned from so many pairs."""
    row = progress.history[-1]
    return {
        "data": experiment.as_dict()["data"],
        "configuration": experiment.as_dict(),
        **({"warm_start": progress.warm_start} if progress.warm_start else {}),
        "steps": row["step"],
        "averaged_steps": progress.snapshots,
        "seed": experiment.training.seed,
        "device": place,
        "torch": torch.__version__,
        "seconds": row["seconds"],
        "training_pairs": pairs,
        "scores": {"valid_loss": row["valid_loss"], "validation greedy": asdict(score)},
    }
