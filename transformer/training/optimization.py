"""The loss, Adam, and the learning rate of each step (paper, 5.3 and 5.4)."""

import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..config import TrainingConfig
from ..errors import ConfigError

MOST_DIMENSIONS, MOST_WARMUP, MOST_FACTOR = 65_536, 100_000, 1000


@dataclass(frozen=True)
class Noam:
    """What a Noam schedule depends on, `factor` times equation 3 of the paper; raises ConfigError for what cannot be.

    An odd d_model is refused because no model of this kind has one.
    """

    d_model: int
    warmup_steps: int
    factor: float = 1.0

    def __post_init__(self):
        for name, value, least, most in (
            ("d_model", self.d_model, 2, MOST_DIMENSIONS),
            ("warm-up", self.warmup_steps, 1, MOST_WARMUP),
        ):
            if not least <= value <= most:
                raise ConfigError(f"The {name} must be between {least} and {most:,}, not {_shown(value)}.")
            if not isinstance(value, int):
                raise ConfigError(f"The {name} must be a whole number, not {_shown(value)}.")
        if self.d_model % 2:
            raise ConfigError(
                f"The d_model must be even, one sine and one cosine a pair, and {self.d_model} is odd: "
                f"try {self.d_model - 1} or {self.d_model + 1}."
            )
        if not 0 < self.factor <= MOST_FACTOR:
            raise ConfigError(
                f"The factor must be greater than 0 and at most {MOST_FACTOR:,}, not {_shown(self.factor)}."
            )

    @property
    def peak(self) -> float:
        """The greatest rate in closed form: factor d_model^-0.5 warmup_steps^-0.5."""
        return self.factor / math.sqrt(self.d_model * self.warmup_steps)

    def rates(self, last_step: int) -> np.ndarray:
        """The rate of every step from 1 to `last_step`: [last_step], float64."""
        steps = np.arange(1, last_step + 1, dtype=np.float64)
        return self.factor * self.d_model**-0.5 * np.minimum(steps**-0.5, steps * self.warmup_steps**-1.5)


def noam_rate(step: int, d_model: int, warmup_steps: int) -> float:
    """d_model^-0.5 min(step^-0.5, step warmup_steps^-1.5), steps from 1 (paper, eq. 3).

    Rises linearly to d_model^-0.5 warmup_steps^-0.5 at step = warmup_steps, then falls with the root of the step.
    """
    if step < 1:
        raise ValueError(f"steps count from 1, got {step}")
    return d_model**-0.5 * min(step**-0.5, step * warmup_steps**-1.5)


def learning_rate(step: int, d_model: int, training: TrainingConfig) -> float:
    """The rate of this step under the configured schedule, warm-up and cool-down (Zhai et al. 2022, 3.5)."""
    if training.schedule == "noam":
        rate = noam_rate(step, d_model, training.warmup_steps)
    else:
        rate = min(1.0, step / training.warmup_steps)
    remaining = training.max_steps - step + 1
    if remaining <= training.cooldown_steps:
        rate *= remaining / (training.cooldown_steps + 1)
    return training.rate_factor * rate


def _shown(value: float) -> str:
    """A number for a message: a stranger's may have hundreds of digits."""
    return "a number so far away" if abs(value) >= 1e15 else f"{value:,.15g}"


def smoothed_cross_entropy(logits: Tensor, target: Tensor, pad_id: int, smoothing: float) -> Tensor:
    """Cross-entropy in nats against the smoothed target (paper, 5.4), summed over all tokens that are not padding.

    logits: [batch, target, vocab], target: [batch, target] -> scalar. The mass `smoothing` is spread over all classes
    (Szegedy et al. 2016, eq. 3), so the target keeps 1 - smoothing + smoothing / vocab.
    """
    return F.cross_entropy(
        logits.flatten(0, 1), target.flatten(), ignore_index=pad_id, label_smoothing=smoothing, reduction="sum"
    )


def adam(model: nn.Module) -> torch.optim.Adam:
    """Adam over all parameters of the model with the paper's betas and epsilon; its rate is 0 until `set_rate`."""
    fused = next(model.parameters()).device.type in ("cpu", "cuda")
    return torch.optim.Adam(model.parameters(), lr=0.0, betas=(0.9, 0.98), eps=1e-9, fused=fused)


def set_rate(optimizer: torch.optim.Optimizer, rate: float) -> None:
    """Let the next update be of this learning rate."""
    for group in optimizer.param_groups:
        group["lr"] = rate
