"""Updates: a batch or several in, changed weights out (paper, 5.3 and 5.4)."""

import contextlib
import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from ..config import TrainingConfig
from ..data.batching import Example
from ..data.pairs import first_of
from ..errors import DataError
from ..model.transformer import Transformer
from .distributed import Processes
from .loader import Tensors
from .optimization import adam, set_rate, smoothed_cross_entropy

_SHOWN_LINES = 8  # line numbers named of a batch that cannot be learned from


@dataclass(frozen=True)
class Update:
    """What one update learns from, and where it stands: `step`, `epoch` and the number of its `first` batch, from 1."""

    batches: Sequence[Sequence[Example]]
    step: int
    epoch: int
    first: int

    @property
    def tokens(self) -> int:
        """Target tokens that are predicted: all but begin of sentence."""
        return sum(len(example.target) - 1 for batch in self.batches for example in batch)

    def place(self, number: int) -> str:
        """Where its batch of this number, from 0, is to be found: epoch, batch, and lines of the corpus."""
        lines = sorted(line for example in self.batches[number] for line in example.lines)
        shown = f", lines {first_of(lines, _SHOWN_LINES)} of the corpus" if lines else ""
        return f"epoch {self.epoch}, batch {self.first + number}{shown}"


class Objective(nn.Module):
    """The one way from ids to a loss while training."""

    def __init__(self, model: Transformer, settings: TrainingConfig):
        super().__init__()
        self.model, self.smoothing = model, settings.label_smoothing
        automatic = settings.precision == "auto" and model.device.type == "cuda"
        self.bfloat16 = settings.precision == "bfloat16" or automatic

    def forward(self, source: Tensor, fed: Tensor, predicted: Tensor) -> Tensor:
        """Source [batch, source], fed and predicted target [batch, target] -> the summed smoothed loss, in nats."""
        with torch.autocast(source.device.type, dtype=torch.bfloat16, enabled=self.bfloat16):
            logits = self.model(source, fed)
        return smoothed_cross_entropy(logits.float(), predicted, self.model.config.pad_id, self.smoothing)


class Updater:
    """One Adam for all updates, with the gradient's norm clipped."""

    def __init__(self, model: Transformer, settings: TrainingConfig, processes: Processes):
        self.model, self.settings, self.processes = model, settings, processes
        self.optimizer = adam(model)
        objective = Objective(model, settings)
        self.bfloat16 = objective.bfloat16
        objective = processes.exchanging(objective)
        # Gradients are exchanged once an update, after the last of its batches.
        self.not_yet_exchanging = contextlib.nullcontext if processes.count == 1 else objective.no_sync
        compiled = settings.compile and model.device.type == "cuda"
        self.objective = torch.compile(objective, dynamic=True) if compiled else objective

    def learn(self, update: Update, tensors: Sequence[Tensors], rate: float) -> float:
        """Change the weights once; returns the smoothed loss a target token in nats.

        tensors: source, fed and predicted target of each batch, this process's rows. Raises DataError, the weights
        unchanged, where a loss or its gradient is no finite number.
        """
        set_rate(self.optimizer, rate)
        self.optimizer.zero_grad(set_to_none=True)
        tokens = update.tokens / self.processes.count  # the exchange takes the mean over the processes
        losses = []
        for number, batch in enumerate(tensors, start=1):
            with contextlib.nullcontext() if number == len(tensors) else self.not_yet_exchanging():
                loss = self.objective(*batch) / tokens
                loss.backward()
            losses.append(loss.detach())
        norm = nn.utils.clip_grad_norm_(self.model.parameters(), self.settings.clip_norm)
        *losses, norm = torch.stack([*losses, norm]).tolist()
        losses = [loss / self.processes.count for loss in self.processes.sums(*losses)]
        _check(update, losses, norm)
        self.optimizer.step()
        return sum(losses)


def _check(update: Update, losses: list[float], norm: float) -> None:
    """Raise DataError, naming the batch, where a loss of the update or the norm of its gradient is not finite."""
    wrong = [number for number, loss in enumerate(losses) if not math.isfinite(loss)]
    if not wrong and math.isfinite(norm):
        return
    what = f"loss is {losses[wrong[0]]}" if wrong else f"gradient's norm is {norm}"
    place = update.place(wrong[0] if wrong else 0)
    raise DataError(f"The {what} at step {update.step} ({place}); training stopped.")
