"""An unfinished training run: its progress and its folder on disk, from which it goes on as if never stopped."""

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path

import torch
from torch import Tensor, nn

from ..config import TrainingConfig
from ..errors import CheckpointError
from ..files import load_checksummed, save_checksummed
from ..untrusted import parse_json
from .optimization import Adam

_STATE = "state.safetensors"
_POINTS = 300  # of the curve of losses, at most, whatever the number of steps


@dataclass
class Progress:
    """Progress of a run of `model`: optimiser steps done, the epoch and its next batch, measurements.

    `averaged_steps` are the steps whose weights the next mean is made of, `history` has one dictionary a validation,
    `curve` pairs of a step and the mean loss up to it. A save holds all of it, so a resumed run measures what a whole
    one does.
    """

    model: dict = field(default_factory=dict)
    warm_start: str = ""
    step: int = 0
    epoch: int = 0
    batch: int = 0
    seconds: float = 0.0
    best_bleu: float = -1.0
    averaged_steps: list[int] = field(default_factory=list)
    history: list[dict] = field(default_factory=list)
    curve: list[list] = field(default_factory=list)
    # Sums of losses and their numbers: since the last validation, and since the last point of the curve.
    row_loss: float = 0.0
    row_steps: int = 0
    point_loss: float = 0.0
    point_steps: int = 0

    def is_over(self, training: TrainingConfig) -> bool:
        """Return True when all steps are done, or patience is at its end."""
        impatient = 0 < training.patience <= self._validations_without_gain()
        return impatient or self.step >= training.max_steps

    def count(self, loss: float, max_steps: int) -> bool:
        """Add the loss of the newest step, in nats a token; True when that made a new point of the curve."""
        self.row_loss, self.row_steps = self.row_loss + loss, self.row_steps + 1
        self.point_loss, self.point_steps = self.point_loss + loss, self.point_steps + 1
        if self.point_steps < -(-max_steps // _POINTS) and self.step < max_steps:
            return False
        self.curve.append([self.step, self.point_loss / self.point_steps])
        self.point_loss, self.point_steps = 0.0, 0
        return True

    def add_validation(self, seconds: float, rate: float, loss: float, bleu: float) -> bool:
        """Add a row to the history; True when its BLEU is the best so far."""
        row = {"step": self.step, "epoch": self.epoch + 1, "seconds": round(seconds), "rate": rate}
        measured = {"train_loss": self.take_mean_loss(), "valid_loss": loss, "valid_bleu": bleu}
        self.history.append(row | measured)
        better = bleu > self.best_bleu
        self.best_bleu = max(bleu, self.best_bleu)
        return better

    def take_mean_loss(self) -> float:
        """Mean of the losses since this was last asked for."""
        mean = self.row_loss / max(1, self.row_steps)
        self.row_loss, self.row_steps = 0.0, 0
        return mean

    def _validations_without_gain(self) -> int:
        """Return the number of validations after the one with the best BLEU, the first of equals."""
        scores = [row["valid_bleu"] for row in self.history]
        return len(scores) - 1 - scores.index(max(scores)) if scores else 0


class SavedRun:
    """The folder of an unfinished run: its last save and the weights of the next mean, each with a checksum."""

    def __init__(self, folder: Path):
        self.folder = Path(folder)

    def exists(self) -> bool:
        """Return True where a run was saved."""
        return (self.folder / _STATE).exists()

    def save(self, model: nn.Module, optimizer: Adam, progress: Progress, random: Tensor) -> None:
        """Write weights, Adam's moments, random state and progress as one file, in one piece.

        random: [processes, bytes], from `random_state`. Raises OSError, the earlier save still whole, when it cannot be
        written.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        tensors = {"random": random}
        for name, parameter in model.named_parameters():
            tensors[f"weight/{name}"] = parameter.detach()
            for key, value in optimizer.state[parameter].items():
                tensors[f"{key}/{name}"] = value
        tensors["progress"] = torch.tensor(list(json.dumps(asdict(progress)).encode()), dtype=torch.uint8)
        save_checksummed(self.folder / _STATE, tensors)

    def load(self, model: nn.Module, optimizer: Adam) -> tuple[Progress, Tensor]:
        """Restore weights and Adam's moments; return the progress and every process's random state.

        Raises CheckpointError when the save is missing or damaged, or does not fit the model.
        """
        tensors = load_checksummed(self.folder / _STATE)
        try:
            progress = Progress(**parse_json(bytes(tensors["progress"].tolist())))
            expected = {f"weight/{name}" for name, _ in model.named_parameters()}
            for name in tensors:
                if name.startswith("weight/") and name not in expected:
                    raise KeyError(name)  # a smaller model would silently leave it out
            with torch.no_grad():
                for name, parameter in model.named_parameters():
                    parameter.copy_(tensors[f"weight/{name}"])
                    for key, value in optimizer.state[parameter].items():
                        value.copy_(tensors[f"{key}/{name}"])
            return progress, tensors["random"]
        except (KeyError, RuntimeError, TypeError, ValueError) as error:
            message = f"The saved run in {self.folder} does not fit this configuration: {error}."
            raise CheckpointError(message) from error

    def save_weights(self, model: nn.Module, step: int) -> None:
        """Keep this step's weights for averaging."""
        self.folder.mkdir(parents=True, exist_ok=True)
        save_checksummed(self._weights(step), {name: p.detach() for name, p in model.named_parameters()})

    def mean_weights(self, steps: list[int]) -> dict[str, Tensor]:
        """Average these steps' weights (paper, 6.1); raises CheckpointError when one is missing or damaged."""
        mean: dict[str, Tensor] = {}
        for step in steps:
            for name, weight in load_checksummed(self._weights(step)).items():
                mean[name] = mean[name] + weight / len(steps) if name in mean else weight / len(steps)
        return mean

    def drop_weights(self, keep: list[int]) -> None:
        """Delete the weights kept of all steps but these."""
        for path in {*self.folder.glob("snapshot-*.safetensors")} - {self._weights(step) for step in keep}:
            path.unlink()

    def _weights(self, step: int) -> Path:
        return self.folder / f"snapshot-{step:07d}.safetensors"


def random_state(device: torch.device) -> Tensor:
    """Return what this process draws its next random numbers from: [bytes], the CPU's and a GPU's where it is one."""
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
