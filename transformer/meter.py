"""What a training run tells of itself while it runs."""

import logging
import time

from .resume import Progress

logger = logging.getLogger(__name__)

_REPORT_SECONDS = 15  # between two lines of progress


class Meter:
    """Counts what a progress line tells: mean loss in nats, target tokens a second, remaining time."""

    def __init__(self, progress: Progress, max_steps: int):
        self.progress, self.max_steps = progress, max_steps
        self.started = time.monotonic() - progress.seconds
        self.losses: list[float] = []
        self.reported = time.monotonic()
        self.tokens = self.steps = 0
        self.recent = 0.0  # sum of the losses since the last report

    def count(self, loss: float, tokens: int) -> None:
        """Add one step."""
        self.losses.append(loss)
        self.recent += loss
        self.tokens += tokens
        self.steps += 1

    def due(self) -> bool:
        """True when the last report is long enough ago."""
        return time.monotonic() - self.reported >= _REPORT_SECONDS

    def seconds(self) -> float:
        """Time spent on this run so far, earlier sessions included."""
        return time.monotonic() - self.started

    def mean_loss(self) -> float:
        """Mean of the smoothed training loss since it was last asked for."""
        mean = sum(self.losses) / max(1, len(self.losses))
        self.losses.clear()
        return mean

    def report(self, rate: float) -> None:
        """One line of progress over the time since the last one."""
        elapsed = time.monotonic() - self.reported
        remaining = (self.max_steps - self.progress.step) * elapsed / max(1, self.steps)
        logger.info(
            "step %d/%d  epoch %d  loss %.3f  rate %.2e  %.0f target tokens/s  %d min left",
            self.progress.step, self.max_steps, self.progress.epoch + 1,
            self.recent / max(1, self.steps), rate,
            self.tokens / elapsed, round(remaining / 60),
        )  # fmt: skip
        self.reported, self.tokens, self.steps, self.recent = time.monotonic(), 0, 0, 0.0
