"""A whole run: from a corpus and a configuration, or an unfinished run, to a checkpoint (paper, section 5)."""

import dataclasses
import logging
from pathlib import Path

import torch

from ..checkpoint import Checkpoint, load_checkpoint
from ..config import Experiment, ModelConfig
from ..data.mixture import Mixture
from ..data.pairs import TextPairs
from ..data.tokenizer import TOKENIZER_FILE, Tokenizer
from ..errors import CheckpointError, ConfigError
from ..files import write_atomically
from ..model.distributed import Processes
from .monitoring import Events
from .state import SavedRun
from .trainer import Trainer

logger = logging.getLogger(__name__)


def train(
    experiment: Experiment,
    pairs: TextPairs | Mixture,
    valid_pairs: TextPairs,
    out: Path,
    device: torch.device,
    resume: bool = False,
    *,
    warm_start: Path | None = None,
    tensorboard: Path | None = None,
    processes: Processes | None = None,
) -> None:
    """Learn the tokenizer, then the model, into the checkpoint folder `out`; with `resume`, go on with the run there.

    `pairs` may be a mixture of several corpora; the tokenizer learns from each of its pairs once, whatever the weights.
    `warm_start` is a checkpoint to begin with: its weights and its tokenizer. `tensorboard` is a folder for event
    files. With several `processes`, all call this alike. Raises ConfigError when `out` holds a run that is not to be
    resumed, CheckpointError when that or `warm_start` is of another shape or a file cannot be written, and DataError
    when the corpus cannot be trained on.
    """
    out, processes = Path(out), processes or Processes()
    saved_run = SavedRun(out / "resume")
    unfinished = saved_run.exists()
    if unfinished and not resume:
        raise ConfigError(f"{out} already holds a run; give --resume to go on with it, or another --out.")
    if (out / "config.json").exists() and not unfinished:
        raise ConfigError(f"{out} already holds a checkpoint and no unfinished run; give another --out.")
    start = _load_start(warm_start, experiment.model) if warm_start and not unfinished else None
    if processes.first:
        _tidy(out)
        if not unfinished:
            _save_tokenizer(saved_run.folder, start, pairs, experiment)
    processes.wait()
    tokenizer = Tokenizer.load(saved_run.folder / TOKENIZER_FILE)
    trainer = Trainer(experiment, tokenizer, pairs, valid_pairs, out, device, processes)
    if unfinished:
        trainer.resume()
    elif start:
        trainer.start_from(start.model, str(warm_start))
    if tensorboard and processes.first:
        trainer.events = Events(tensorboard, trainer.progress.step)
    try:
        trainer.run()
    except OSError as error:
        kept = "--resume goes on from the last save" if saved_run.exists() else "nothing was saved yet"
        raise CheckpointError(f"{error.filename or out} cannot be written: {error.strerror}; {kept}.") from error
    finally:
        if trainer.events:
            trainer.events.close()


def _tidy(out: Path) -> None:
    """Delete what a run that was killed while it wrote has left half written."""
    for part in (*out.glob("*.part"), *out.glob("resume/*.part")):
        part.unlink()


def _save_tokenizer(folder: Path, start: Checkpoint | None, pairs: TextPairs | Mixture, experiment: Experiment) -> None:
    """Put the run's tokenizer where every process, and a resumed run, reads it."""
    folder.mkdir(parents=True, exist_ok=True)
    if start:
        tokenizer = start.tokenizer
        if not isinstance(tokenizer, Tokenizer):
            raise CheckpointError("An imported checkpoint, with a tokenizer a language, cannot be trained on.")
    else:
        logger.info("learning a tokenizer of %d pieces", experiment.tokenizer.vocab_size)
        tokenizer = Tokenizer.train((side for pair in pairs for side in pair), experiment.tokenizer)
    write_atomically(folder / TOKENIZER_FILE, tokenizer.model)


def _load_start(folder: Path, config: ModelConfig) -> Checkpoint:
    """The checkpoint to begin with; raises CheckpointError when it is not of this shape."""
    checkpoint = load_checkpoint(folder, torch.device("cpu"))
    given, wanted = dataclasses.asdict(checkpoint.model.config), dataclasses.asdict(config)
    for name in ("dropout", "max_length"):  # no weight depends on these
        del given[name], wanted[name]
    differing = [
        f"{name} is {given[name]} there, {wanted[name]} here" for name in wanted if given[name] != wanted[name]
    ]
    if differing:
        raise CheckpointError(f"{folder} cannot be begun with, its shape is another: {'; '.join(differing)}.")
    return checkpoint
