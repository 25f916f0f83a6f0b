"""The state of an unfinished training run on disk, complete enough to go on as if it had never stopped."""

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path

import safetensors
import torch
from torch import Tensor, nn

from .checkpoint import load_tensors, save_tensors
from .errors import CheckpointError

_STATE = "state.safetensors"


@dataclass
class Progress:
    """Where a run of `model` stands: optimiser steps done, the epoch and its next batch, what was measured."""

    model: dict = field(default_factory=dict)
    step: int = 0
    epoch: int = 0
    batch: int = 0
    seconds: float = 0.0
    best_bleu: float = -1.0
    snapshots: list[int] = field(default_factory=list)
    history: list[dict] = field(default_factory=list)


def has_state(folder: Path) -> bool:
    """True where a run was saved."""
    return (folder / _STATE).exists()


def save_state(folder: Path, model: nn.Module, optimizer: torch.optim.Optimizer, progress: Progress) -> None:
    """Write weights, Adam's moments, random state and progress as one file, in one piece."""
    folder.mkdir(parents=True, exist_ok=True)
    tensors = {"random/cpu": torch.get_rng_state()}
    if torch.cuda.is_available():
        tensors["random/cuda"] = torch.cuda.get_rng_state()
    for name, parameter in model.named_parameters():
        tensors[f"weight/{name}"] = parameter.detach()
        for key, value in optimizer.state[parameter].items():
            tensors[f"{key}/{name}"] = value
    tensors["progress"] = torch.tensor(list(json.dumps(asdict(progress)).encode()), dtype=torch.uint8)
    save_tensors(folder / _STATE, tensors)


def load_state(folder: Path, model: nn.Module, optimizer: torch.optim.Optimizer) -> Progress:
    """Put weights, Adam's moments and random state back; raises CheckpointError when the file does not fit."""
    tensors = load_tensors(folder / _STATE)
    try:
        progress = Progress(**json.loads(bytes(tensors["progress"].tolist())))
        expected = {f"weight/{name}" for name, _ in model.named_parameters()}
        for name in tensors:
            if name.startswith("weight/") and name not in expected:
                raise KeyError(name)  # a smaller model would silently leave it out
        with torch.no_grad():
            for name, parameter in model.named_parameters():
                parameter.copy_(tensors[f"weight/{name}"])
                # A fused Adam counts its steps on the device, any other on the CPU.
                counter = parameter.device if optimizer.defaults["fused"] else torch.device("cpu")
                optimizer.state[parameter] = {
                    "step": tensors[f"step/{name}"].to(counter, copy=True),
                    "exp_avg": tensors[f"exp_avg/{name}"].to(parameter.device),
                    "exp_avg_sq": tensors[f"exp_avg_sq/{name}"].to(parameter.device),
                }
        torch.set_rng_state(tensors["random/cpu"])
        if torch.cuda.is_available() and "random/cuda" in tensors:
            torch.cuda.set_rng_state(tensors["random/cuda"])
    except (KeyError, RuntimeError, TypeError, ValueError, safetensors.SafetensorError) as error:
        raise CheckpointError(f"The saved run in {folder} does not fit this configuration: {error}.") from error
    return progress


def save_snapshot(folder: Path, model: nn.Module, step: int) -> None:
    """Keep this step's weights for averaging."""
    folder.mkdir(parents=True, exist_ok=True)
    save_tensors(_snapshot(folder, step), {name: p.detach() for name, p in model.named_parameters()})


def average_snapshots(folder: Path, steps: list[int]) -> dict[str, Tensor]:
    """The mean of these steps' weights (paper, 6.1)."""
    mean: dict[str, Tensor] = {}
    for step in steps:
        for name, weight in load_tensors(_snapshot(folder, step)).items():
            mean[name] = mean[name] + weight / len(steps) if name in mean else weight / len(steps)
    return mean


def drop_snapshots(folder: Path, keep: list[int]) -> None:
    """Delete all snapshots but these steps'."""
    kept = {_snapshot(folder, step) for step in keep}
    for path in folder.glob("snapshot-*.safetensors"):
        if path not in kept:
            path.unlink()


def _snapshot(folder: Path, step: int) -> Path:
    return folder / f"snapshot-{step:07d}.safetensors"
