"""TensorBoard event files: the course of a run for those who watch many runs."""

from pathlib import Path

from .errors import ConfigError


class Events:
    """Writes event files to `folder`; those of an earlier session that lie after `step` no longer count.

    Raises ConfigError when the package that knows their format is not installed.
    """

    def __init__(self, folder: Path, step: int):
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError as error:
            raise ConfigError(
                "TensorBoard's event files need the package tensorboard: pip install tensorboard."
            ) from error
        self._writer = SummaryWriter(str(folder), purge_step=step + 1)

    def add(self, values: dict[str, float], step: int) -> None:
        """Add a point to each of these curves, and hand it to the disk."""
        for name, value in values.items():
            self._writer.add_scalar(name, value, step)
        self._writer.flush()

    def close(self) -> None:
        """No more points will come."""
        self._writer.close()
