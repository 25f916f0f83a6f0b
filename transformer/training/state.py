"""The state of an unfinished training run on disk, complete enough to go on as if it had never stopped.

Two saves are kept, the last and the one before it, each with a checksum: where the last is damaged, the run goes back
to the other.
"""

import json
import logging
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path

import torch
from torch import Tensor, nn

from ..errors import CheckpointError
from ..files import load_sealed, save_sealed, sync_folder

logger = logging.getLogger(__name__)

_LAST, _BEFORE, _NEXT = "state.safetensors", "previous.safetensors", "next.safetensors"


def has_state(folder: Path) -> bool:
    """True where a run was saved."""
    return (folder / _LAST).exists() or (folder / _BEFORE).exists()


@dataclass
class Progress:
    """Where a run of `model` stands: optimiser steps done, the epoch and its next batch, what was measured.

    `snapshots` are the steps whose weights the next mean is made of, `history` has one dictionary a validation, `curve`
    pairs of a step and the mean loss up to it. A save holds all of it, so a resumed run measures what a whole one does.
    """

    model: dict = field(default_factory=dict)
    warm_start: str = ""
    step: int = 0
    epoch: int = 0
    batch: int = 0
    seconds: float = 0.0
    best_bleu: float = -1.0
    snapshots: list[int] = field(default_factory=list)
    history: list[dict] = field(default_factory=list)
    curve: list[list] = field(default_factory=list)
    # Sums of losses and their numbers: since the last validation, and since the last point of the curve.
    row_loss: float = 0.0
    row_steps: int = 0
    point_loss: float = 0.0
    point_steps: int = 0

    def count(self, loss: float, max_steps: int) -> bool:
        """Add the loss of the newest step, in nats a token; True when that made a new point of the curve."""
        self.row_loss, self.row_steps = self.row_loss + loss, self.row_steps + 1
        self.point_loss, self.point_steps = self.point_loss + loss, self.point_steps + 1
        if self.point_steps < -(-max_steps // _POINTS) and self.step < max_steps:
            return False
        self.curve.append([self.step, self.point_loss / self.point_steps])
        self.point_loss, self.point_steps = 0.0, 0
        return True

    def take_mean_loss(self) -> float:
        """Mean of the losses since this was last asked for."""
        mean = self.row_loss / max(1, self.row_steps)
        self.row_loss, self.row_steps = 0.0, 0
        return mean

    def validations_without_gain(self) -> int:
        """How many validations came after the one with the best BLEU, the first of equals."""
        scores = [row["valid_bleu"] for row in self.history]
        return len(scores) - 1 - scores.index(max(scores)) if scores else 0


def save_state(
    folder: Path, model: nn.Module, optimizer: torch.optim.Optimizer, progress: Progress, random: Tensor
) -> None:
    """Write weights, Adam's moments, random state and progress as one file, in one piece.

    random: [processes, bytes], as `random_state` gives it. The save before this one is kept; raises OSError, both
    earlier ones whole, when this one cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    tensors = {"random": random}
    for name, parameter in model.named_parameters():
        tensors[f"weight/{name}"] = parameter.detach()
        for key, value in optimizer.state[parameter].items():
            tensors[f"{key}/{name}"] = value
    tensors["progress"] = torch.tensor(list(json.dumps(asdict(progress)).encode()), dtype=torch.uint8)
    save_sealed(folder / _NEXT, tensors)
    # Killed between these two, it leaves the save before as the only one.
    if (folder / _LAST).exists():
        os.replace(folder / _LAST, folder / _BEFORE)
    os.replace(folder / _NEXT, folder / _LAST)
    sync_folder(folder)


def load_state(folder: Path, model: nn.Module, optimizer: torch.optim.Optimizer) -> tuple[Progress, Tensor]:
    """Put weights and Adam's moments back; returns the progress and every process's random state.

    Goes back to the save before the last, and says so in the log, where the last is damaged; raises CheckpointError
    when none is sound, or it does not fit the model.
    """
    tensors = _load_last(folder)
    try:
        progress = _progress(tensors)
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
        return progress, tensors["random"]
    except (KeyError, RuntimeError, TypeError, ValueError) as error:
        raise CheckpointError(f"The saved run in {folder} does not fit this configuration: {error}.") from error


def random_state(device: torch.device) -> Tensor:
    """What this process draws its next random numbers from: [bytes], the CPU's and on a GPU also the device's."""
    states = [torch.get_rng_state()]
    if device.type == "cuda":
        states.append(torch.cuda.get_rng_state(device))
    return torch.cat(states)


def restore_random_state(state: Tensor, device: torch.device) -> None:
    """Draw on from such a state; a device's part is left out where it has none or is another kind of device's."""
    size = len(torch.get_rng_state())
    torch.set_rng_state(state[:size].clone())
    if device.type == "cuda" and len(state) > size:
        torch.cuda.set_rng_state(state[size:].clone(), device)


def _load_last(folder: Path) -> dict[str, Tensor]:
    """The last save, or the one before it where the last is damaged; the damaged one is put aside."""
    saves = [path for path in (folder / _LAST, folder / _BEFORE) if path.exists()]
    damaged: Path | None = None
    for path in saves:
        try:
            tensors = load_sealed(path)
        except CheckpointError:
            if path == saves[-1]:
                raise
            damaged = path.replace(path.with_suffix(".damaged"))
            continue
        if damaged:
            step = _progress(tensors).step
            logger.warning(
                "%s is damaged (kept as %s): going back to the save before it, of step %d.",
                saves[0],
                damaged.name,
                step,
            )
        return tensors
    raise CheckpointError(f"There is no saved run in {folder}.")


def _progress(tensors: dict[str, Tensor]) -> Progress:
    return Progress(**json.loads(bytes(tensors["progress"].tolist())))


_POINTS = 300  # of the curve of losses, at most, whatever the number of steps


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
