"""The trainer: one run from its first update, or the one it was stopped at, to its last."""

import contextlib
import logging
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

import torch
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from ..checkpoint import Checkpoint, note_training, save_checkpoint, save_history
from ..config import Experiment
from ..data.batching import epoch_batches, make_examples
from ..data.tokenizer import Tokenizer
from ..device import keep_freed_memory
from ..errors import CheckpointError
from ..evaluation import Score
from ..model.transformer import Transformer
from .distributed import Processes
from .loader import Tensors, load_updates
from .monitoring import Events, Meter, device_peak, update_flops
from .optimization import learning_rate
from .replay_recorder import Filming
from .signals import interruptions_held
from .state import (
    Progress,
    average_snapshots,
    drop_snapshots,
    load_state,
    random_state,
    restore_random_state,
    save_snapshot,
    save_state,
    sound_snapshots,
)
from .updates import Update, Updater
from .validation import Validator, describe_place, describe_run

logger = logging.getLogger(__name__)

_SEED = 100_003  # keeps the shuffles, and the dropout, of neighbouring seeds apart


class Trainer:
    """One run: teacher forcing with Adam until `max_steps`, validated, saved, and resumed where it stopped.

    pairs and valid_pairs are sentence pairs; `out` becomes the checkpoint folder of the best validation, and
    `out`/resume holds what a resumed run needs. Of several `processes` each makes a trainer of the same arguments.
    """

    def __init__(
        self,
        experiment: Experiment,
        tokenizer: Tokenizer,
        pairs: Sequence[tuple[str, str]],
        valid_pairs: Sequence[tuple[str, str]],
        out: Path,
        device: torch.device,
        processes: Processes | None = None,
    ):
        self.experiment, self.settings = experiment, experiment.training
        self.tokenizer, self.out, self.device = tokenizer, Path(out), device
        self.processes = processes or Processes()
        self.state_folder = self.out / "resume"
        config = experiment.model
        self.examples = make_examples(pairs, tokenizer, config.max_length)
        torch.manual_seed(self.settings.seed)
        self.model = Transformer(config).to(device)
        self.validator = Validator(Transformer(config).to(device), tokenizer, valid_pairs, self.settings)
        self.updater = Updater(self.model, self.settings, self.processes)
        self.filming = Filming(experiment, tokenizer, self.state_folder)
        self.events: Events | None = None
        self.progress = Progress(model=asdict(config))
        self.saved_step = 0
        if not self.processes.first:
            self._reseed()

    def start_from(self, weights: nn.Module, name: str) -> None:
        """Begin with the weights of another model of the same shape, which training.json calls `name`."""
        given = dict(weights.named_parameters())
        with torch.no_grad():
            for parameter_name, parameter in self.model.named_parameters():
                parameter.copy_(given[parameter_name])
        self.progress.warm_start = name

    def resume(self) -> None:
        """Go on from the last sound save of `out`; raises CheckpointError when it does not fit."""
        if not self.processes.first:
            self.processes.wait()  # until the first has put a damaged save aside
        progress, random = load_state(self.state_folder, self.model, self.updater.optimizer)
        if self.processes.first:
            self.processes.wait()
        if progress.model != self.progress.model:
            raise CheckpointError(f"The saved run in {self.state_folder} is of another model: {progress.model}.")
        self.progress, self.saved_step = progress, progress.step
        if len(random) == self.processes.count:
            restore_random_state(random[self.processes.rank], self.device)
        else:
            logger.info(
                "saved by %d processes, resumed by %d: dropout is seeded anew", len(random), self.processes.count
            )
            self._reseed()
        needed = progress.snapshots[max(0, len(progress.snapshots) - self.settings.average_last + 1) :]
        progress.snapshots = sound_snapshots(self.state_folder, needed)
        self.filming.take_up(progress.step)
        logger.info("resumed at step %d, epoch %d", progress.step, progress.epoch + 1)

    def run(self) -> None:
        """Train to the end; an interruption ends the step under way, saves, and raises KeyboardInterrupt."""
        keep_freed_memory()
        # On a CPU the fused kernel is tuned for long sequences; sentences of ten tokens run faster unfused.
        kernel = sdpa_kernel(SDPBackend.MATH) if self.device.type == "cpu" else contextlib.nullcontext()
        place = describe_place(self.device, self.processes)
        logger.info("%d parameters, %d pairs, on %s", self.model.count_parameters(), len(self.examples), place)
        self.model.train()
        peak = device_peak(self.device) if self.updater.bfloat16 else None
        meter = Meter(self.progress, self.settings.max_steps, peak)
        with kernel, interruptions_held() as asked_to_stop:
            self._film()
            for update, tensors in self._updates():
                self._step(update, tensors, meter)
                # Agreed upon, so that all processes leave after the same step.
                if any(self.processes.sums(asked_to_stop.is_set())):
                    self._save(meter)
                    self.processes.wait()  # until the first has saved
                    logger.info("stopped at step %d; --resume goes on from here", self.progress.step)
                    raise KeyboardInterrupt
            self._finish()

    def _updates(self) -> Iterator[tuple[Update, list[Tensors]]]:
        """What each update learns from, as examples and as tensors, from where the run stands until it is over."""
        settings, progress, config = self.settings, self.progress, self.experiment.model
        while not self._over():
            seed = settings.seed * _SEED + progress.epoch
            batches = epoch_batches(
                self.examples, settings.batch_tokens, settings.join_probability, config.max_length, seed
            )
            starts = range(progress.batch, len(batches), settings.accumulate)
            groups = [batches[start : start + settings.accumulate] for start in starts]
            loaded = load_updates(groups, config.pad_id, self.device, self.processes)
            for group, tensors in zip(groups, loaded, strict=True):
                if self._over():
                    return
                update = Update(group, progress.step + 1, progress.epoch + 1, progress.batch + 1)
                progress.batch += len(group)
                yield update, tensors
            progress.epoch, progress.batch = progress.epoch + 1, 0

    def _over(self) -> bool:
        """True when all steps are done, or patience is at its end."""
        impatient = 0 < self.settings.patience <= self.progress.validations_without_gain()
        return impatient or self.progress.step >= self.settings.max_steps

    def _step(self, update: Update, tensors: list[Tensors], meter: Meter) -> None:
        """One update, and what is due after it."""
        settings, progress = self.settings, self.progress
        rate = learning_rate(update.step, self.experiment.model.d_model, settings)
        loss = self.updater.learn(update, tensors, rate)
        progress.step = update.step
        if progress.count(loss, settings.max_steps):
            self._tell({"loss/training": progress.curve[-1][1], "rate": rate})
        meter.count(loss, update.tokens, update_flops(self.experiment.model, tensors))
        if meter.due():
            self._tell({"target tokens a second": meter.report(rate)})
        self._film()
        validation = progress.step % settings.validate_every == 0 or progress.step == settings.max_steps
        if validation:
            self._validate(rate, meter)
        if validation or progress.step % settings.save_every == 0:
            self._save(meter)

    def _validate(self, rate: float, meter: Meter) -> None:
        """Measure the mean of the last snapshots; keep it as the checkpoint when it is the best so far."""
        progress, settings, first = self.progress, self.settings, self.processes.first
        started = time.monotonic()
        progress.snapshots = [*progress.snapshots, progress.step][-settings.average_last :]
        loss, score = 0.0, Score(0.0, 0.0, "", 0)
        if first:
            save_snapshot(self.state_folder, self.model, progress.step)
            loss, score = self.validator.measure(average_snapshots(self.state_folder, progress.snapshots))
        loss, bleu = self.processes.sums(loss, score.bleu)  # what the first one measured, for all
        row = {
            "step": progress.step,
            "epoch": progress.epoch + 1,
            "seconds": round(meter.seconds()),
            "rate": rate,
            "train_loss": progress.take_mean_loss(),
            "valid_loss": loss,
            "valid_bleu": bleu,
        }
        progress.history.append(row)
        seconds = time.monotonic() - started
        logger.info("validation at step %d: loss %.4f, BLEU %.2f (%.0f s)", progress.step, loss, bleu, seconds)
        self._tell({"loss/validation": loss, "BLEU/validation": bleu})
        better = bleu > progress.best_bleu
        progress.best_bleu = max(bleu, progress.best_bleu)
        if first and better:
            place = describe_place(self.device, self.processes)
            training = describe_run(self.experiment, progress, score, place, len(self.examples))
            save_checkpoint(self.out, Checkpoint(self.validator.model, self.tokenizer, training, progress.history))
            self.filming.publish(self.out, progress)
        elif first:
            save_history(self.out, progress.history)

    def _save(self, meter: Meter) -> None:
        """Save where the run stands, unless that was just done."""
        random = self.processes.gather(random_state(self.device))
        if not self.processes.first or self.saved_step == self.progress.step:
            return
        self.progress.seconds = meter.seconds()
        self.filming.save(self.progress)
        save_state(self.state_folder, self.model, self.updater.optimizer, self.progress, random)
        drop_snapshots(self.state_folder, self.progress.snapshots)
        self.saved_step = self.progress.step

    def _finish(self) -> None:
        """Complete what the run leaves behind; doing it again changes nothing."""
        if not self.processes.first:
            return
        step, patience = self.progress.step, self.settings.patience
        if step < self.settings.max_steps:
            logger.info("no better BLEU in %d validations: stopped early, at step %d", patience, step)
            note_training(self.out, "stopped_early", {"step": step, "patience": patience})
            self.filming.moments.add(step)
            self._film()
        self.filming.publish(self.out, self.progress)

    def _film(self) -> None:
        if self.processes.first:
            self.filming.shoot(self.model, self.progress.step)

    def _tell(self, values: dict[str, float]) -> None:
        if self.events:
            self.events.add(values, self.progress.step)

    def _reseed(self) -> None:
        """Let this process drop out other values than the others do."""
        torch.manual_seed((self.settings.seed * _SEED + self.progress.step) * _SEED + self.processes.rank)
