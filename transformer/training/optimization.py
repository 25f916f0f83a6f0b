"""Learning rate, smoothed loss and Adam of an update (paper, 5.3 and 5.4)."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.optim.adam import adam

from ..config import TrainingConfig


def noam_rate(step: int, d_model: int, warmup_steps: int) -> float:
    """d_model^-0.5 min(step^-0.5, step warmup_steps^-1.5), steps from 1 (paper, eq. 3); its peak is at warmup_steps."""
    if step < 1:
        raise ValueError(f"steps count from 1, got {step}")
    return d_model**-0.5 * min(step**-0.5, step * warmup_steps**-1.5)


def learning_rate(step: int, d_model: int, training: TrainingConfig) -> float:
    """Return the rate of this step under the configured schedule, warm-up and cool-down (Zhai et al. 2022)."""
    if training.schedule == "noam":
        rate = noam_rate(step, d_model, training.warmup_steps)
    else:
        rate = min(1.0, step / training.warmup_steps)
    remaining = training.max_steps - step + 1
    if remaining <= training.cooldown_steps:
        rate *= remaining / (training.cooldown_steps + 1)
    return training.rate_factor * rate


def smoothed_cross_entropy(logits: Tensor, target: Tensor, pad_id: int, smoothing: float) -> Tensor:
    """Cross-entropy in nats against the smoothed target (paper, 5.4), summed over all tokens that are not padding.

    logits: [batch, target, vocab], target: [batch, target] -> scalar. The mass `smoothing` is spread over all classes
    (Szegedy et al. 2016), so the target keeps 1 - smoothing + smoothing / vocab.
    """
    return F.cross_entropy(
        logits.flatten(0, 1), target.flatten(), ignore_index=pad_id, label_smoothing=smoothing, reduction="sum"
    )


class Adam:
    """Adam (Kingma and Ba 2015) over all parameters of a model, with the paper's betas and epsilon (5.3).

    `state` has each parameter's number of steps and running means of its gradient and of the gradient's square. The
    arithmetic is `torch.optim.adam.adam`. The class torch.optim.Adam around it imports PyTorch's compiler when it is
    made, which would double the time that a live training takes to start.
    """

    def __init__(self, model: nn.Module):
        self._parameters = list(model.parameters())
        device = self._parameters[0].device
        self._fused = device.type in ("cpu", "cuda")
        counter_device = device if self._fused else torch.device("cpu")
        self.state = {}
        for parameter in self._parameters:
            means = {name: torch.zeros_like(parameter) for name in ("exp_avg", "exp_avg_sq")}
            self.state[parameter] = {"step": torch.zeros((), device=counter_device), **means}

    @torch.no_grad()
    def step(self, rate: float) -> None:
        """Change the weights by their gradients, with this learning rate."""
        states = [self.state[parameter] for parameter in self._parameters]
        gradients = [parameter.grad for parameter in self._parameters]
        means, squares, steps = ([state[name] for state in states] for name in ("exp_avg", "exp_avg_sq", "step"))
        paper: dict[str, Any] = {"lr": rate, "beta1": 0.9, "beta2": 0.98, "eps": 1e-9}
        without: dict[str, Any] = {"max_exp_avg_sqs": [], "amsgrad": False, "weight_decay": 0.0, "maximize": False}
        adam(self._parameters, gradients, means, squares, state_steps=steps, fused=self._fused, **paper, **without)  # type: ignore[arg-type]
