"""Label smoothing by hand, in float64: the target distribution in both forms in use, and the loss that it gives."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..config import require
from ..model.names import Name

_GOLDEN = (math.sqrt(5) - 1) / 2
_NARROWINGS = 90  # of an interval of length 1: it ends below the distance of two neighbouring numbers


class SmoothingForm(Name):
    """Over which classes the mass is spread."""

    ALL = "all classes"
    OTHERS = "all but target and padding"


@dataclass(frozen=True)
class Smoothing:
    """A target of which the mass `epsilon` is taken from the right class and spread over `form` of `classes`.

    "all classes": Szegedy et al. 2016, which is PyTorch's CrossEntropyLoss(label_smoothing=epsilon); the right
    class and padding get their part of it too. "all but target and padding": the Annotated Transformer's
    LabelSmoothing. `classes` counts padding. Raises ConfigError for what cannot be.
    """

    form: SmoothingForm
    epsilon: float
    classes: int

    def __post_init__(self):
        forms = ", ".join(SmoothingForm)
        require(self.form in tuple(SmoothingForm), f"The form of smoothing must be one of {forms}, not {self.form!r}.")
        require(0 <= self.epsilon < 1, f"Epsilon must be at least 0 and less than 1, not {self.epsilon}.")
        classes = "Smoothing needs at least 3 classes: the right one, padding, another"
        require(self.classes >= 3, f"{classes}; not {self.classes}.")

    @property
    def others(self) -> int:
        """How many classes share what the right class lacks."""
        return self.classes - 1 if self.form == SmoothingForm.ALL else self.classes - 2

    @property
    def right(self) -> float:
        """The mass of the right class."""
        return 1 - self.epsilon + (self.epsilon / self.classes if self.form == SmoothingForm.ALL else 0.0)

    @property
    def wrong(self) -> float:
        """The mass of each of the others."""
        return self.epsilon / (self.classes if self.form == SmoothingForm.ALL else self.classes - 2)

    @property
    def entropy(self) -> float:
        """Entropy of the target in nats: the least cross-entropy that any model can have."""
        return 0.0 - _times_log(self.right, self.right) - self.others * _times_log(self.wrong, self.wrong)

    def targets(self, ids: Sequence[int], pad_id: int) -> np.ndarray:
        """What each position is trained towards: [positions, classes]; a position of padding has a row of zeros."""
        right = np.asarray(ids)
        table = np.full((len(ids), self.classes), self.wrong)
        if self.form == SmoothingForm.OTHERS:
            table[:, pad_id] = 0.0
        table[np.arange(len(ids)), right] = self.right
        table[right == pad_id] = 0.0
        return table

    def cross_entropy(self, confidence: float) -> float:
        """The loss in nats where the model gives `confidence` to the right class and the rest evenly to the `others`.

        Raises ValueError for a confidence that is not between 0 and 1; infinite where no loss is.
        """
        if not 0 <= confidence <= 1:
            raise ValueError(f"a confidence lies between 0 and 1, got {confidence}")
        rest = (1 - confidence) / self.others
        return 0.0 - _times_log(self.right, confidence) - self.others * _times_log(self.wrong, rest)

    def divergence(self, confidence: float) -> float:
        """The Kullback-Leibler divergence of target and model: the cross-entropy without the target's entropy."""
        return self.cross_entropy(confidence) - self.entropy

    def find_minimum(self) -> tuple[float, float]:
        """The confidence of the least cross-entropy and that loss, searched for by golden section.

        The closed form is (right, entropy), which the search does not use. Near its minimum the loss is so flat that
        rounding hides a confidence's digits beyond the eighth.
        """
        low, high = 0.0, 1.0
        for _ in range(_NARROWINGS):
            step = _GOLDEN * (high - low)
            if self.cross_entropy(high - step) <= self.cross_entropy(low + step):
                high = low + step
            else:
                low = high - step
        best = (low + high) / 2
        return best, self.cross_entropy(best)


def _times_log(mass: float, probability: float) -> float:
    """mass log(probability), 0 for no mass whatever the probability."""
    if mass == 0:
        return 0.0
    return mass * math.log(probability) if probability > 0 else -math.inf
