"""A whole run: from a configuration and a corpus, or an unfinished run, to a checkpoint (paper, section 5)."""

import contextlib
import logging
import signal
import threading
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import torch
from torch import nn

from ..checkpoint import Checkpoint, load_checkpoint, note_training, save_history
from ..config import Experiment, ModelConfig
from ..data.mixture import Mixture
from ..data.pairs import TextPairs
from ..data.tokenizer import TOKENIZER_FILE, Tokenizer
from ..errors import CheckpointError, ConfigError, DataError
from ..files import write_atomically
from ..model.device import keep_freed_memory
from ..model.distributed import Processes
from ..model.transformer import Transformer
from .loader import EPOCH_SEED, Update, UpdateLoader
from .monitoring import Events, ProgressLog
from .optimization import learning_rate
from .replay_recorder import RunReplay
from .state import Progress, SavedRun, random_state, restore_random_state
from .updates import NotFiniteError, Tensors, Updater, attention_kernel
from .validation import RunCheckpoint, Validator

logger = logging.getLogger(__name__)

_ONE_INTERRUPTION = 2.0  # seconds; torchrun hands on to a process what the terminal has already sent it


class Trainer:
    """One run: teacher forcing with Adam until `max_steps`, validated, saved, and resumed where it stopped.

    pairs and valid_pairs are sentence pairs, the former also a mixture of several corpora; `out` becomes the checkpoint
    folder of the best validation, and `out`/resume holds what a resumed run needs. Of several `processes` each makes a
    trainer of the same arguments.
    """

    def __init__(
        self,
        experiment: Experiment,
        tokenizer: Tokenizer,
        pairs: TextPairs | Mixture,
        valid_pairs: TextPairs,
        out: Path,
        device: torch.device,
        processes: Processes | None = None,
    ):
        self.experiment, self.settings = experiment, experiment.training
        self.device, self.processes = device, processes or Processes()
        self.loader = UpdateLoader(experiment, tokenizer, pairs, device, self.processes)
        torch.manual_seed(self.settings.seed)
        self.model = Transformer(experiment.model).to(device)
        self.validator = Validator(Transformer(experiment.model).to(device), tokenizer, valid_pairs, self.settings)
        self.updater = Updater(self.model, self.settings, self.processes)
        where = self.processes.describe(device)
        self.checkpoint = RunCheckpoint(Path(out), experiment, tokenizer, where, self.loader.mixture)
        self.saved_run = SavedRun(Path(out) / "resume")
        self.replay = RunReplay(experiment, tokenizer, self.saved_run.folder)
        self.events: Events | None = None
        self.progress = Progress(model=asdict(experiment.model))
        self._saved_step = 0
        if not self.processes.first:
            self._reseed()

    def start_from(self, weights: nn.Module, name: str) -> None:
        """Begin with the weights of another model of the same shape, which training.json calls `name`."""
        self.model.set_weights(dict(weights.named_parameters()))
        self.progress.warm_start = name

    def resume(self) -> None:
        """Go on from the last save of `out`; raises CheckpointError when it is damaged or does not fit."""
        progress, random = self.saved_run.load(self.model, self.updater.optimizer)
        if progress.model != self.progress.model:
            raise CheckpointError(f"The saved run in {self.saved_run.folder} is of another model: {progress.model}.")
        self.progress, self._saved_step = progress, progress.step
        if len(random) == self.processes.count:
            restore_random_state(random[self.processes.rank], self.device)
        else:
            message = "saved by %d processes, resumed by %d: dropout is seeded anew"
            logger.info(message, len(random), self.processes.count)
            self._reseed()
        self.replay.resume(progress.step)
        logger.info("resumed at step %d, epoch %d", progress.step, progress.epoch + 1)

    def run(self) -> None:
        """Train to the end; an interruption ends the step under way, saves, and raises KeyboardInterrupt."""
        keep_freed_memory()
        pairs, where = len(self.loader.examples), self.processes.describe(self.device)
        logger.info("%d parameters, %d pairs, on %s", self.model.count_parameters(), pairs, where)
        self.model.train()
        log = ProgressLog(self.progress, self.settings.max_steps)
        with attention_kernel(self.device), interruptions_held() as stop:
            self._record_replay()
            for update, tensors in self.loader.remaining(self.progress):
                self._step(update, tensors, log)
                # Agreed upon, so that all processes leave after the same step.
                if any(self.processes.sums(stop.is_set())):
                    self._save(log)
                    self.processes.wait()  # until the first has saved
                    logger.info("stopped at step %d; --resume goes on from here", self.progress.step)
                    raise KeyboardInterrupt
            self._finish()

    def _step(self, update: Update, tensors: list[Tensors], log: ProgressLog) -> None:
        """Make one update, then validate and save when due."""
        settings, progress = self.settings, self.progress
        rate = learning_rate(update.step, self.experiment.model.d_model, settings)
        try:
            loss = self.updater.learn(tensors, update.tokens, rate)
        except NotFiniteError as error:
            raise DataError(f"The {error} at {update.describe(error.batch)}; training stopped.") from error
        progress.step = update.step
        if progress.count(loss, settings.max_steps):
            self._add_events({"loss/training": progress.curve[-1][1], "rate": rate})
        log.count(loss, update.tokens, rate)
        self._record_replay()
        validation = progress.step % settings.validate_every == 0 or progress.step == settings.max_steps
        if validation:
            self._validate(rate, log)
        if validation or progress.step % settings.save_every == 0:
            self._save(log)

    def _validate(self, rate: float, log: ProgressLog) -> None:
        """Measure the mean of the last validations' weights; keep it as the checkpoint when it is the best so far."""
        progress, first = self.progress, self.processes.first
        started = time.monotonic()
        progress.averaged_steps = [*progress.averaged_steps, progress.step][-self.settings.average_last :]
        score, measured = None, (0.0, 0.0)
        if first:
            self.saved_run.save_weights(self.model, progress.step)
            loss, score = self.validator.measure(self.saved_run.mean_weights(progress.averaged_steps))
            measured = loss, score.bleu
        loss, bleu = self.processes.sums(*measured)  # what the first one measured, for all
        better = progress.add_validation(log.seconds(), rate, loss, bleu)
        seconds = time.monotonic() - started
        logger.info("validation at step %d: loss %.4f, BLEU %.2f (%.0f s)", progress.step, loss, bleu, seconds)
        self._add_events({"loss/validation": loss, "BLEU/validation": bleu})
        if first and better:
            self.checkpoint.save(self.validator.model, progress, score)  # type: ignore[arg-type]
            self.replay.publish(self.checkpoint.folder, progress)
        elif first:
            save_history(self.checkpoint.folder, progress.history)

    def _save(self, log: ProgressLog) -> None:
        """Save where the run stands, unless that was just done."""
        random = self.processes.gather(random_state(self.device))
        if not self.processes.first or self._saved_step == self.progress.step:
            return
        self.progress.seconds = log.seconds()
        self.replay.save(self.progress)
        self.saved_run.save(self.model, self.updater.optimizer, self.progress, random)
        self.saved_run.drop_weights(keep=self.progress.averaged_steps)
        self._saved_step = self.progress.step

    def _finish(self) -> None:
        """Complete what the run leaves behind; doing it again changes nothing."""
        if not self.processes.first:
            return
        step, patience = self.progress.step, self.settings.patience
        if step < self.settings.max_steps:
            logger.info("no better BLEU in %d validations: stopped early, at step %d", patience, step)
            note_training(self.checkpoint.folder, "stopped_early", {"step": step, "patience": patience})
            self.replay.steps.add(step)
            self._record_replay()
        self.replay.publish(self.checkpoint.folder, self.progress)

    def _record_replay(self) -> None:
        if self.processes.first:
            self.replay.record(self.model, self.progress.step)

    def _add_events(self, values: dict[str, float]) -> None:
        if self.events:
            self.events.add(values, self.progress.step)

    def _reseed(self) -> None:
        """Let this process drop out other values than the others do."""
        torch.manual_seed((self.settings.seed * EPOCH_SEED + self.progress.step) * EPOCH_SEED + self.processes.rank)


@contextlib.contextmanager
def interruptions_held() -> Iterator[threading.Event]:
    """Within the block SIGINT and SIGTERM set the event, so that no step is left half done; a later one raises.

    Other threads than the main one receive no signals and may not set handlers: nothing is held there.
    """
    stop = threading.Event()
    last = time.monotonic()

    def hold(*_: object) -> None:
        nonlocal last
        if not stop.is_set():
            logger.info("stopping after this step; interrupt again to stop at once")
            stop.set()
            last = time.monotonic()
        elif time.monotonic() - last > _ONE_INTERRUPTION:
            raise KeyboardInterrupt

    numbers = (signal.SIGINT, signal.SIGTERM) if threading.current_thread() is threading.main_thread() else ()
    before = [(number, signal.signal(number, hold)) for number in numbers]
    try:
        yield stop
    finally:
        for number, handler in before:
            signal.signal(number, handler)


def train(
    experiment: Experiment,
    pairs: TextPairs | Mixture,
    valid_pairs: TextPairs,
    out: Path,
    device: torch.device,
    *,
    resume: bool = False,
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
        saved = "--resume goes on from the last save" if saved_run.exists() else "nothing was saved yet"
        raise CheckpointError(f"{error.filename or out} cannot be written: {error.strerror}; {saved}.") from error
    finally:
        if trainer.events:
            trainer.events.close()


def _tidy(out: Path) -> None:
    """Delete partial files of a run that was killed while it wrote."""
    for part in (*out.glob("*.part"), *out.glob("resume/*.part")):
        part.unlink()


def _save_tokenizer(folder: Path, start: Checkpoint | None, pairs: TextPairs | Mixture, experiment: Experiment) -> None:
    """Write the run's tokenizer to the folder from which every process, and a resumed run, reads it."""
    folder.mkdir(parents=True, exist_ok=True)
    if start:
        tokenizer = start.tokenizer
        if not isinstance(tokenizer, Tokenizer):
            raise CheckpointError("Imported checkpoints use one tokenizer per language and cannot be fine-tuned.")
    else:
        logger.info("learning a tokenizer of %d pieces", experiment.tokenizer.vocab_size)
        tokenizer = Tokenizer.train((side for pair in pairs for side in pair), experiment.tokenizer)
    write_atomically(folder / TOKENIZER_FILE, tokenizer.model)


def _load_start(folder: Path, config: ModelConfig) -> Checkpoint:
    """Return the checkpoint to begin with; raises CheckpointError when it is not of this shape."""
    checkpoint = load_checkpoint(folder, torch.device("cpu"))
    there, here = asdict(checkpoint.model.config), asdict(config)
    shape = here.keys() - {"dropout", "max_length"}  # no weight depends on these
    differing = [
        f"{name} is {there[name]} there, {here[name]} here"
        for name in here
        if name in shape and there[name] != here[name]
    ]
    if differing:
        raise CheckpointError(f"{folder} cannot be begun with, its shape is another: {'; '.join(differing)}.")
    return checkpoint
