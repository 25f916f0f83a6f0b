"""Where a training run stands, and what was measured on its way."""

from dataclasses import dataclass, field

_POINTS = 300  # of the curve of losses, at most, whatever the number of steps


@dataclass
class Progress:
    """Where a run of `model` stands: optimiser steps done, the epoch and its next batch, what was measured.

    `snapshots` are the steps whose weights the next mean is made of, `history` has one dictionary a validation, `curve`
    pairs of a step and the mean loss up to it. A save holds all of it, so a resumed run measures what a whole one does.
    """

    model: dict = field(default_factory=dict)
    warm_start: str = ""
    step: int = 0
    epoch: int = 0
    batch: int = 0
    seconds: float = 0.0
    best_bleu: float = -1.0
    snapshots: list[int] = field(default_factory=list)
    history: list[dict] = field(default_factory=list)
    curve: list[list] = field(default_factory=list)
    # Sums of losses and their numbers: since the last validation, and since the last point of the curve.
    row_loss: float = 0.0
    row_steps: int = 0
    point_loss: float = 0.0
    point_steps: int = 0

    def count(self, loss: float, max_steps: int) -> bool:
        """Add the loss of the newest step, in nats a token; True when that made a new point of the curve."""
        self.row_loss, self.row_steps = self.row_loss + loss, self.row_steps + 1
        self.point_loss, self.point_steps = self.point_loss + loss, self.point_steps + 1
        if self.point_steps < -(-max_steps // _POINTS) and self.step < max_steps:
            return False
        self.curve.append([self.step, self.point_loss / self.point_steps])
        self.point_loss, self.point_steps = 0.0, 0
        return True

    def take_mean_loss(self) -> float:
        """Mean of the losses since this was last asked for."""
        mean = self.row_loss / max(1, self.row_steps)
        self.row_loss, self.row_steps = 0.0, 0
        return mean

    def validations_without_gain(self) -> int:
        """How many validations came after the one with the best BLEU, the first of equals."""
        scores = [row["valid_bleu"] for row in self.history]
        return len(scores) - 1 - scores.index(max(scores)) if scores else 0
