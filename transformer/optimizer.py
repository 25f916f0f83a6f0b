"""The optimiser of every training here: Adam (Kingma and Ba 2015) as the paper sets it (5.3)."""

import torch
from torch import nn


def adam(model: nn.Module) -> torch.optim.Adam:
    """Adam over all parameters of the model with the paper's betas and epsilon; its rate is 0 until `set_rate`."""
    fused = next(model.parameters()).device.type in ("cpu", "cuda")
    return torch.optim.Adam(model.parameters(), lr=0.0, betas=(0.9, 0.98), eps=1e-9, fused=fused)


def set_rate(optimizer: torch.optim.Optimizer, rate: float) -> None:
    """Let the next update be of this learning rate."""
    for group in optimizer.param_groups:
        group["lr"] = rate
