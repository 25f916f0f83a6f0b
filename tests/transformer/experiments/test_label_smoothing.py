"""Label smoothing against PyTorch's own loss and a plain recomputation."""

import math

import pytest
import torch

from transformer.errors import ConfigError
from transformer.experiments.training import Smoothing
from transformer.training.optimization import smoothed_cross_entropy

EPSILONS = (0.0, 0.1, 0.35, 0.9)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("classes", [3, 5, 11])
@pytest.mark.parametrize("confidence", [0.01, 0.5, 0.97])
def test_the_loss_is_that_of_pytorch_and_of_the_training(epsilon, classes, confidence):
    probabilities = torch.full((1, classes), (1 - confidence) / (classes - 1), dtype=torch.float64)
    probabilities[0, 2] = confidence
    logits, right = probabilities.log(), torch.tensor([2])
    loss = Smoothing(epsilon, classes).cross_entropy(confidence)
    theirs = torch.nn.CrossEntropyLoss(label_smoothing=epsilon)(logits, right).item()
    trained = smoothed_cross_entropy(logits[None], right[None], pad_id=0, smoothing=epsilon).item()
    assert loss == pytest.approx(theirs, rel=1e-12) == pytest.approx(trained, rel=1e-12)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("classes", [3, 5, 11])
def test_the_masses_sum_to_one_and_the_entropy_is_the_least_loss(epsilon, classes):
    smoothing = Smoothing(epsilon, classes)
    masses = [smoothing.right, *[smoothing.wrong] * (classes - 1)]
    assert math.fsum(masses) == pytest.approx(1, rel=1e-15)
    assert smoothing.entropy == pytest.approx(-sum(m * math.log(m) for m in masses if m), abs=1e-15)
    assert all(smoothing.cross_entropy(p / 1000) >= smoothing.entropy - 1e-12 for p in range(1, 1001))


def test_impossible_values_are_refused():
    for settings in ((-0.1, 5), (1.0, 5), (math.nan, 5), (0.1, 1)):
        with pytest.raises(ConfigError):
            Smoothing(*settings)
    with pytest.raises(ValueError, match="between 0 and 1"):
        Smoothing(0.1, 5).cross_entropy(1.5)
