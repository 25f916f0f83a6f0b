"""Small experiments with training: gradients at initialisation, and label smoothing."""

import math
from dataclasses import dataclass, replace

import torch

from ..config import ModelConfig, Norm, require
from ..data.batching import Examples, collate
from ..model.transformer import Transformer
from ..training.optimization import smoothed_cross_entropy


@dataclass(frozen=True)
class GradientNorms:
    """Euclidean norms of the loss's gradient with respect to W_2 of each layer's feed-forward, first layer first, and
    the loss itself, in nats a token. Of a model with random weights."""

    norm: Norm
    encoder: tuple[float, ...]
    decoder: tuple[float, ...]
    loss: float


def gradient_norms(config: ModelConfig, norm: Norm, layers: int, examples: Examples, seed: int) -> GradientNorms:
    """Initialise a model of this shape with so many layers a side, feed it the examples, and go back once.

    Both norms begin with the same random matrices for a seed. Dropout is left out; the global generator of random
    numbers is left as it was.
    """
    shape = replace(config, norm=norm, num_encoder_layers=layers, num_decoder_layers=layers, dropout=0.0)
    with torch.random.fork_rng(devices=[]), torch.inference_mode(mode=False), torch.enable_grad():
        torch.manual_seed(seed)
        model = Transformer(shape)
        source, decoder_input, target = collate(examples, shape.pad_id)
        tokens = int((target != shape.pad_id).sum())
        loss = smoothed_cross_entropy(model(source, decoder_input), target, shape.pad_id, 0.1) / tokens
        torch.autograd.backward(loss)
    return GradientNorms(norm=norm, encoder=_norms(model.encoder), decoder=_norms(model.decoder), loss=loss.item())


def _norms(stack: torch.nn.ModuleList) -> tuple[float, ...]:
    return tuple(layer.feed_forward.outer.weight.grad.norm().item() for layer in stack)  # type: ignore[operator, union-attr]


@dataclass(frozen=True)
class Smoothing:
    """Target of label smoothing: the mass `epsilon` is spread evenly over all `classes`, the right one included.

    Szegedy et al. 2016, section 7; PyTorch's CrossEntropyLoss(label_smoothing=epsilon). Raises ConfigError for an
    epsilon outside [0, 1) and for fewer than 2 classes.
    """

    epsilon: float
    classes: int

    def __post_init__(self) -> None:
        require(0 <= self.epsilon < 1, f"Epsilon must be at least 0 and less than 1, not {self.epsilon}.")
        require(self.classes >= 2, f"Smoothing needs at least 2 classes, not {self.classes}.")

    @property
    def right(self) -> float:
        """Mass of the right class: the probability at which the loss is least."""
        return 1 - self.epsilon + self.wrong

    @property
    def wrong(self) -> float:
        """Mass of each other class."""
        return self.epsilon / self.classes

    @property
    def entropy(self) -> float:
        """Entropy of the target in nats: the least cross-entropy that any model can have."""
        return self.cross_entropy(self.right)

    def cross_entropy(self, confidence: float) -> float:
        """Return the loss in nats of a model that gives `confidence` to the right class, the rest evenly to the others.

        Raises ValueError for a confidence that is not between 0 and 1. The loss may be infinite.
        """
        if not 0 <= confidence <= 1:
            raise ValueError(f"a confidence lies between 0 and 1, got {confidence}")
        others = self.classes - 1
        rest = (1 - confidence) / others
        return 0.0 - _times_log(self.right, confidence) - others * _times_log(self.wrong, rest)


def _times_log(mass: float, probability: float) -> float:
    """Return mass log(probability), 0 for no mass whatever the probability."""
    if mass == 0:
        return 0.0
    return mass * math.log(probability) if probability > 0 else -math.inf
