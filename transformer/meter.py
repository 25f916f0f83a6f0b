"""What a training run tells of itself while it runs."""

import logging
import time

from .progress import Progress

logger = logging.getLogger(__name__)

_REPORT_SECONDS = 15  # between two lines of progress


class Meter:
    """Counts what a progress line tells: mean loss in nats, target tokens a second, remaining time.

    `peak` is how many operations a second this process's card reaches at most, None where that is not known.
    """

    def __init__(self, progress: Progress, max_steps: int, peak: float | None = None):
        self.progress, self.max_steps, self.peak = progress, max_steps, peak
        self.started = time.monotonic() - progress.seconds
        self.reported = time.monotonic()
        self.tokens = self.steps = self.flops = 0
        self.recent = 0.0  # sum of the losses since the last report

    def count(self, loss: float, tokens: int, flops: int) -> None:
        """Add one step: its loss, its target tokens, and the operations that this process computed for it."""
        self.recent += loss
        self.tokens += tokens
        self.flops += flops
        self.steps += 1

    def due(self) -> bool:
        """True when the last report is long enough ago."""
        return time.monotonic() - self.reported >= _REPORT_SECONDS

    def seconds(self) -> float:
        """Time spent on this run so far, earlier sessions included."""
        return time.monotonic() - self.started

    def report(self, rate: float) -> float:
        """One line of progress over the time since the last one; returns target tokens a second."""
        elapsed = time.monotonic() - self.reported
        speed = self.tokens / elapsed
        share = f", {100 * self.flops / elapsed / self.peak:.1f} % of the card's peak" if self.peak else ""
        remaining = (self.max_steps - self.progress.step) * elapsed / max(1, self.steps)
        logger.info(
            "step %d/%d  epoch %d  loss %.3f  rate %.2e  %.0f target tokens/s%s  %d min left",
            self.progress.step, self.max_steps, self.progress.epoch + 1,
            self.recent / max(1, self.steps), rate,
            speed, share, round(remaining / 60),
        )  # fmt: skip
        self.tokens = self.steps = self.flops = 0
        self.reported, self.recent = time.monotonic(), 0.0
        return speed
