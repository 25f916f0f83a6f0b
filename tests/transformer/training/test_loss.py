"""The smoothed cross-entropy."""

import math

import pytest
import torch
from support.models import BATCH, TARGET, random_ids
from torch import nn

from transformer.training.optimization import smoothed_cross_entropy


def random_logits() -> torch.Tensor:
    return torch.randn(BATCH, TARGET, 31, dtype=torch.float64, generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.5])
def test_loss_equals_torchs_and_leaves_padding_out(smoothing):
    logits, target = random_logits(), random_ids(BATCH, TARGET)
    target[1, 3:], target[4, 1:] = 0, 0
    theirs = nn.CrossEntropyLoss(ignore_index=0, label_smoothing=smoothing, reduction="mean")
    tokens = int((target != 0).sum())
    expected = theirs(logits.transpose(1, 2), target) * tokens
    torch.testing.assert_close(smoothed_cross_entropy(logits, target, 0, smoothing), expected)


def test_loss_is_the_sum_over_tokens_of_the_smoothed_targets_cross_entropy():
    logits, target = random_logits(), random_ids(BATCH, TARGET)
    log_p, expected = logits.log_softmax(-1), 0.0
    for row in range(BATCH):
        for step in range(TARGET):
            q = torch.full((31,), 0.1 / 31, dtype=torch.float64)
            q[target[row, step]] += 0.9
            expected -= (q * log_p[row, step]).sum().item()
    assert smoothed_cross_entropy(logits, target, 0, 0.1).item() == pytest.approx(expected)


def loss_at(p: float, smoothing: float) -> float:
    """The loss of one token to which the model gives p, the rest spread evenly over 9 others."""
    probabilities = torch.full((10,), (1 - p) / 9, dtype=torch.float64)
    probabilities[4] = p
    return smoothed_cross_entropy(probabilities.log()[None, None], torch.tensor([[4]]), 0, smoothing).item()


def test_with_smoothing_the_best_probability_of_the_target_is_not_one():
    grid = [number / 1000 for number in range(500, 1000)]
    best = min(grid, key=lambda p: loss_at(p, 0.1))
    assert best == pytest.approx(1 - 0.1 + 0.1 / 10, abs=1e-3)
    assert loss_at(0.999999, 0.1) > loss_at(best, 0.1)


def test_without_smoothing_the_best_probability_is_one():
    assert loss_at(0.999999, 0.0) < loss_at(0.99, 0.0) < loss_at(0.9, 0.0) == pytest.approx(-math.log(0.9))


def test_a_batch_of_padding_alone_costs_nothing():
    assert smoothed_cross_entropy(random_logits(), torch.zeros(BATCH, TARGET, dtype=torch.long), 0, 0.1) == 0
