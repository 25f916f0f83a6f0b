"""Label smoothing as numbers: its target, and the loss of a model."""

import math
from dataclasses import dataclass

from ..config import require


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
