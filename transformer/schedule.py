"""The learning rate over the steps of training."""

from .config import TrainingConfig


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
