"""The film of a training run while it is made: which moments are kept, and how it outlives an interruption."""

import logging
from pathlib import Path

from .config import Experiment
from .errors import CheckpointError, ConfigError
from .film import FILE, Camera, load_film, moments
from .model import Transformer
from .progress import Progress
from .tokenizer import Tokenizer

logger = logging.getLogger(__name__)


class Filming:
    """Films the experiment's probes; without any, nothing happens. `folder` is where an unfinished run is kept.

    Raises ConfigError for a probe that the model cannot read.
    """

    def __init__(self, experiment: Experiment, tokenizer: Tokenizer, folder: Path):
        self.path = folder / FILE
        probes, limit = experiment.film.probes, experiment.model.max_length - 1
        for text in (side for probe in probes for side in probe):
            length = len(tokenizer.encode(text))
            if not 0 < length <= limit:
                raise ConfigError(f"The film's probe {text!r} has {length} tokens; the model reads 1 to {limit}.")
        self.camera = Camera(tokenizer, probes) if probes else None
        self.moments = set(moments(experiment.training.max_steps)) if probes else set()
        self.unsaved = False

    def shoot(self, model: Transformer, step: int) -> None:
        """Keep this step where it is one of the moments and not kept yet."""
        if step in self.moments and step not in self.camera.steps:
            self.camera.shoot(model, step)
            self.unsaved = True

    def save(self, progress: Progress) -> None:
        """Keep what is there for a resumed run; a save of the run's state comes after it, never before."""
        if self.unsaved:
            self._write(self.path, progress)
            self.unsaved = False

    def publish(self, folder: Path, progress: Progress) -> None:
        """Write the film so far to a checkpoint's folder."""
        if self.camera and self.camera.steps:
            self._write(folder / FILE, progress)

    def take_up(self, step: int) -> None:
        """Go on with the film of a run that is resumed at `step`; raises ConfigError when it shows other probes."""
        if not self.camera:
            return
        try:
            self.camera.take_up(load_film(self.path), until=step)
        except CheckpointError as error:
            logger.warning("%s The film begins at step %d.", error, step)
        except ValueError as error:
            raise ConfigError(f"The film in {self.path} is of other probes than the configuration's [film].") from error

    def _write(self, path: Path, progress: Progress) -> None:
        scores = [(row["step"], row["valid_bleu"]) for row in progress.history]
        self.camera.film(progress.curve, scores, "BLEU").save(path)
