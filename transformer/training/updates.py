"""One update: from the gradients of a batch or several to changed weights (paper, 5.3 and 5.4)."""

import contextlib
import math
from collections.abc import Sequence
from contextlib import AbstractContextManager

import torch
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from ..config import TrainingConfig
from ..model.distributed import Processes
from ..model.transformer import Transformer
from .fused_loss import projected_cross_entropy
from .optimization import Adam, smoothed_cross_entropy

# Source, decoder input and decoder target of a batch: [batch, source], [batch, target], [batch, target].
Tensors = tuple[Tensor, Tensor, Tensor]


class NotFiniteError(ArithmeticError):
    """A loss or the gradient's norm is no finite number; `batch` is the number of the batch to blame, from 0."""

    def __init__(self, message: str, batch: int):
        super().__init__(message)
        self.batch = batch


class Objective(nn.Module):
    """Training loss of a batch of ids; `in_bfloat16`: whether autocast multiplies in bfloat16."""

    def __init__(self, model: Transformer, settings: TrainingConfig):
        super().__init__()
        self.model, self.smoothing = model, settings.label_smoothing
        automatic = settings.precision == "auto" and _device(model).type == "cuda"
        self.in_bfloat16 = settings.precision == "bfloat16" or automatic

    def forward(self, source: Tensor, fed: Tensor, predicted: Tensor) -> Tensor:
        """Source [batch, source], decoder input and target [batch, target] -> the summed smoothed loss, in nats."""
        if source.device.type == "cpu" and not self.in_bfloat16:
            projection = self.model.output_projection
            last, weights = projection.scaled(self.model.last_vectors(source, fed)), projection.learned()
            return projected_cross_entropy(last, *weights, predicted, self.model.config.pad_id, self.smoothing)
        with torch.autocast(source.device.type, dtype=torch.bfloat16, enabled=self.in_bfloat16):
            logits = self.model(source, fed)
        return smoothed_cross_entropy(logits.float(), predicted, self.model.config.pad_id, self.smoothing)


class Updater:
    """One Adam for all updates, with the gradient's norm clipped."""

    def __init__(
        self, model: Transformer, settings: TrainingConfig, processes: Processes, objective: type[Objective] = Objective
    ):
        self.model, self.settings, self.processes = model, settings, processes
        self.optimizer = Adam(model)
        self.objective = objective(model, settings)
        wrapped = processes.wrap_ddp(self.objective)
        # Gradients are exchanged once an update, after the last of its batches.
        self._without_exchange = contextlib.nullcontext if processes.count == 1 else wrapped.no_sync
        compiled = settings.compile and _device(model).type == "cuda"
        self._objective = torch.compile(wrapped, dynamic=True) if compiled else wrapped

    def learn(self, batches: Sequence[Tensors], tokens: int, rate: float) -> float:
        """Change the weights once, with this learning rate; returns the smoothed loss a target token in nats.

        batches: this process's rows of each batch; `tokens` counts the predicted target tokens of all processes' rows.
        Raises NotFiniteError, the weights unchanged, where a loss or its gradient is no finite number.
        """
        self.model.zero_grad(set_to_none=True)
        share = tokens / self.processes.count  # the exchange takes the mean over the processes
        losses = []
        for number, batch in enumerate(batches, start=1):
            with contextlib.nullcontext() if number == len(batches) else self._without_exchange():  # type: ignore[operator]
                loss = self._objective(*batch) / share
                loss.backward()
            losses.append(loss.detach())
        norm = nn.utils.clip_grad_norm_(self.model.parameters(), self.settings.clip_norm)
        *losses, norm = torch.stack([*losses, norm]).tolist()
        losses = [loss / self.processes.count for loss in self.processes.sums(*losses)]
        _require_finite(losses, norm)
        self.optimizer.step(rate)
        return sum(losses)


def attention_kernel(device: torch.device) -> AbstractContextManager:
    """Attention as is fastest for short sentences: unfused on a CPU, whose fused kernel is tuned for long ones."""
    return sdpa_kernel(SDPBackend.MATH) if device.type == "cpu" else contextlib.nullcontext()


def _device(model: nn.Module) -> torch.device:
    return next(model.parameters()).device


def _require_finite(losses: list[float], norm: float) -> None:
    for number, loss in enumerate(losses):
        if not math.isfinite(loss):
            raise NotFiniteError(f"loss is {loss}", number)
    if not math.isfinite(norm):
        raise NotFiniteError(f"gradient's norm is {norm}", 0)
