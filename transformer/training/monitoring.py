"""Reports of a training run: lines of progress in the log, and TensorBoard's event files."""

import logging
import time
from pathlib import Path

from ..errors import ConfigError
from .state import Progress

logger = logging.getLogger(__name__)

_REPORT_SECONDS = 15  # between two lines of progress


class ProgressLog:
    """Clock of a run, and its lines of progress: mean loss in nats, learning rate, speed, remaining time."""

    def __init__(self, progress: Progress, max_steps: int):
        self._progress, self._max_steps = progress, max_steps
        self._started = time.monotonic() - progress.seconds
        self._reset()

    def seconds(self) -> float:
        """Return the time spent on this run so far, earlier sessions included."""
        return time.monotonic() - self._started

    def count(self, loss: float, tokens: int, rate: float) -> None:
        """Add one step: its loss, its target tokens, its learning rate. Log a line when the last one is 15 s old."""
        self._losses += loss
        self._tokens += tokens
        self._steps += 1
        elapsed = time.monotonic() - self._reported
        if elapsed < _REPORT_SECONDS:
            return
        progress = self._progress
        position = progress.step, self._max_steps, progress.epoch + 1
        minutes_left = (self._max_steps - progress.step) * elapsed / self._steps / 60
        line = "step %d/%d  epoch %d  loss %.3f  rate %.2e  %.0f target tokens/s  %.0f min left"
        logger.info(line, *position, self._losses / self._steps, rate, self._tokens / elapsed, minutes_left)
        self._reset()

    def _reset(self) -> None:
        self._reported = time.monotonic()
        self._tokens = self._steps = 0
        self._losses = 0.0


class Events:
    """Writer of TensorBoard's event files: points after `step` replace older ones.

    Raises ConfigError without the extra `train`.
    """

    def __init__(self, folder: Path, step: int):
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError as error:
            message = 'TensorBoard is not installed: pip install "headlight-transformer[train]".'
            raise ConfigError(message) from error
        self._writer = SummaryWriter(str(folder), purge_step=step + 1)

    def add(self, values: dict[str, float], step: int) -> None:
        """Add a point to each of these curves, and flush it to disk."""
        for name, value in values.items():
            self._writer.add_scalar(name, value, step)
        self._writer.flush()

    def close(self) -> None:
        """Close the files."""
        self._writer.close()
