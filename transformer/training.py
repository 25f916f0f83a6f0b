"""Training: from a corpus and a configuration to a checkpoint (paper, section 5)."""

import contextlib
import logging
import math
import signal
import threading
import time
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

from .checkpoint import Checkpoint, save_checkpoint, save_history, write_atomically
from .config import Experiment
from .data import Example, collate, epoch_batches, make_examples
from .device import describe_device, keep_freed_memory
from .errors import CheckpointError, ConfigError, DataError
from .loss import smoothed_cross_entropy
from .meter import Meter
from .model import Transformer
from .resume import Progress, average_snapshots, drop_snapshots, has_state, load_state, save_snapshot, save_state
from .schedule import learning_rate
from .scoring import Score
from .tokenizer import Tokenizer
from .validation import validation_loss, validation_score

logger = logging.getLogger(__name__)

_EPOCH_SEED = 100_003  # keeps the epochs' shuffles of neighbouring seeds apart


class Trainer:
    """One run: teacher forcing with Adam until `max_steps`, validated, saved, and resumed where it stopped.

    pairs and valid_pairs are sentence pairs; `out` becomes the checkpoint folder of the best validation, and
    `out`/resume holds what a resumed run needs.
    """

    def __init__(
        self,
        experiment: Experiment,
        tokenizer: Tokenizer,
        pairs: list[tuple[str, str]],
        valid_pairs: list[tuple[str, str]],
        out: Path,
        device: torch.device,
    ):
        self.experiment, self.settings = experiment, experiment.training
        self.tokenizer, self.out, self.device = tokenizer, Path(out), device
        self.state_folder = self.out / "resume"
        config = experiment.model
        self.examples = make_examples(pairs, tokenizer, config.max_length)
        fitting = [pair for pair in valid_pairs if len(tokenizer.encode(pair[0])) < config.max_length]
        self.valid_pairs = fitting[: self.settings.validate_sentences]
        self.valid_examples = make_examples(fitting, tokenizer, config.max_length)
        torch.manual_seed(self.settings.seed)
        self.model = Transformer(config).to(device)
        self.validated = Transformer(config).to(device).eval()  # holds the averaged weights
        self.optimizer = torch.optim.Adam(
            self.model.parameters(), lr=0.0, betas=(0.9, 0.98), eps=1e-9, fused=device.type in ("cpu", "cuda")
        )
        self.progress = Progress(model=asdict(config))
        self.loss = self._loss
        if self.settings.compile and device.type == "cuda":
            self.loss = torch.compile(self._loss, dynamic=True)

    def resume(self) -> None:
        """Go on from the last saved state of `out`; raises CheckpointError when it does not fit."""
        progress = load_state(self.state_folder, self.model, self.optimizer)
        if progress.model and progress.model != self.progress.model:
            raise CheckpointError(f"The saved run in {self.state_folder} is of another model: {progress.model}.")
        self.progress = replace(progress, model=self.progress.model)
        logger.info("resumed at step %d, epoch %d", self.progress.step, self.progress.epoch + 1)

    def run(self) -> None:
        """Train until `max_steps`; an interruption ends the step under way, saves, and raises KeyboardInterrupt."""
        keep_freed_memory()
        # On a CPU the fused kernel is tuned for long sequences; sentences of ten tokens run faster unfused.
        kernel = sdpa_kernel(SDPBackend.MATH) if self.device.type == "cpu" else contextlib.nullcontext()
        logger.info(
            "%d parameters, %d pairs, on %s",
            self.model.count_parameters(), len(self.examples), describe_device(self.device),
        )  # fmt: skip
        self.model.train()
        meter = Meter(self.progress, self.settings.max_steps)
        with kernel, _interruptions_held() as asked_to_stop:
            for batch in self._batches():
                loss, tokens = self._step(batch)
                self._after_step(loss, tokens, meter)
                if asked_to_stop.is_set():
                    self._save(meter)
                    logger.info("stopped at step %d; --resume goes on from here", self.progress.step)
                    raise KeyboardInterrupt

    def _batches(self) -> Iterator[list[Example]]:
        """The batches from where the run stands, epoch after epoch, until the last step."""
        settings, progress = self.settings, self.progress
        while progress.step < settings.max_steps:
            seed = settings.seed * _EPOCH_SEED + progress.epoch
            batches = epoch_batches(
                self.examples, settings.batch_tokens, settings.join_probability, self.experiment.model.max_length, seed
            )
            for batch in batches[progress.batch :]:
                if progress.step >= settings.max_steps:
                    return
                progress.batch += 1
                yield batch
            progress.epoch, progress.batch = progress.epoch + 1, 0

    def _step(self, batch: list[Example]) -> tuple[float, int]:
        """One update; returns the smoothed loss a token in nats and the number of target tokens."""
        step = self.progress.step + 1
        for group in self.optimizer.param_groups:
            group["lr"] = learning_rate(step, self.experiment.model.d_model, self.settings)
        source, fed, predicted = (ids.to(self.device) for ids in collate(batch, self.experiment.model.pad_id))
        tokens = sum(len(example.target) - 1 for example in batch)
        self.optimizer.zero_grad(set_to_none=True)
        loss = self.loss(source, fed, predicted) / tokens
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.settings.clip_norm)
        value = loss.item()
        if not math.isfinite(value):
            raise DataError(f"The loss is {value} at step {step} (epoch {self.progress.epoch + 1}); training stopped.")
        self.optimizer.step()
        self.progress.step = step
        return value, tokens

    def _loss(self, source: torch.Tensor, fed: torch.Tensor, predicted: torch.Tensor) -> torch.Tensor:
        bfloat16 = self.settings.precision == "bfloat16" or (
            self.settings.precision == "auto" and self.device.type == "cuda"
        )
        with torch.autocast(self.device.type, dtype=torch.bfloat16, enabled=bfloat16):
            logits = self.model(source, fed)
        return smoothed_cross_entropy(
            logits.float(), predicted, self.experiment.model.pad_id, self.settings.label_smoothing
        )

    def _after_step(self, loss: float, tokens: int, meter: Meter) -> None:
        step = self.progress.step
        meter.count(loss, tokens)
        if meter.due():
            meter.report(self.optimizer.param_groups[0]["lr"])
        last = step == self.settings.max_steps
        if step % self.settings.validate_every == 0 or last:
            self._validate(meter)
        if step % self.settings.save_every == 0 or last:
            self._save(meter)

    def _validate(self, meter: Meter) -> None:
        """Measure the mean of the last snapshots; keep it as the checkpoint when it is the best so far."""
        progress, settings = self.progress, self.settings
        save_snapshot(self.state_folder, self.model, progress.step)
        progress.snapshots = [*progress.snapshots, progress.step][-settings.average_last :]
        mean = average_snapshots(self.state_folder, progress.snapshots)
        with torch.no_grad():
            for name, parameter in self.validated.named_parameters():
                parameter.copy_(mean[name])
        started = time.monotonic()
        score = validation_score(self.validated, self.tokenizer, self.valid_pairs)
        row = {
            "step": progress.step,
            "epoch": progress.epoch + 1,
            "seconds": round(meter.seconds()),
            "rate": self.optimizer.param_groups[0]["lr"],
            "train_loss": meter.mean_loss(),
            "valid_loss": validation_loss(self.validated, self.valid_examples, settings.batch_tokens),
            "valid_bleu": score.bleu,
        }
        progress.history.append(row)
        logger.info(
            "validation at step %d: loss %.4f, BLEU %.2f (%.0f s)",
            progress.step, row["valid_loss"], row["valid_bleu"], time.monotonic() - started,
        )  # fmt: skip
        if row["valid_bleu"] > progress.best_bleu:
            progress.best_bleu = row["valid_bleu"]
            save_checkpoint(
                self.out, Checkpoint(self.validated, self.tokenizer, self._description(row, score), progress.history)
            )
        else:
            save_history(self.out, progress.history)
        self._save(meter)
        drop_snapshots(self.state_folder, progress.snapshots)

    def _save(self, meter: Meter) -> None:
        self.progress.seconds = meter.seconds()
        save_state(self.state_folder, self.model, self.optimizer, self.progress)

    def _description(self, row: dict, score: Score) -> dict:
        """What the checkpoint's training.json says of itself."""
        return {
            "data": self.experiment.as_dict()["data"],
            "configuration": self.experiment.as_dict(),
            "steps": row["step"],
            "averaged_steps": self.progress.snapshots,
            "seed": self.settings.seed,
            "device": describe_device(self.device),
            "torch": torch.__version__,
            "seconds": row["seconds"],
            "training_pairs": len(self.examples),
            "scores": {"valid_loss": row["valid_loss"], "validation greedy": asdict(score)},
        }


@contextlib.contextmanager
def _interruptions_held() -> Iterator[threading.Event]:
    """Within the block SIGINT and SIGTERM set the event, so that no step is left half done; the second one raises.

    Other threads than the main one receive no signals and may not set handlers: nothing is held there.
    """
    asked = threading.Event()

    def hold(number, frame) -> None:
        if asked.is_set():
            raise KeyboardInterrupt
        logger.info("stopping after this step; interrupt again to stop at once")
        asked.set()

    numbers = (signal.SIGINT, signal.SIGTERM) if threading.current_thread() is threading.main_thread() else ()
    before = [(number, signal.signal(number, hold)) for number in numbers]
    try:
        yield asked
    finally:
        for number, handler in before:
            signal.signal(number, handler)


def train(
    experiment: Experiment,
    pairs: list[tuple[str, str]],
    valid_pairs: list[tuple[str, str]],
    out: Path,
    device: torch.device,
    resume: bool = False,
) -> None:
    """Learn the tokenizer, then the model, into the checkpoint folder `out`; with `resume`, go on with the run there.

    Raises ConfigError when `out` holds a run that is not to be resumed, CheckpointError when it is of another shape,
    and DataError when the corpus cannot be trained on.
    """
    out = Path(out)
    unfinished = has_state(out / "resume")
    if unfinished and not resume:
        raise ConfigError(f"{out} already holds a run; give --resume to go on with it, or another --out.")
    if (out / "config.json").exists() and not unfinished:
        raise ConfigError(f"{out} already holds a checkpoint and no unfinished run; give another --out.")
    if unfinished:
        tokenizer = Tokenizer.load(out / "resume" / "tokenizer.model")
    else:
        logger.info("learning a tokenizer of %d pieces", experiment.tokenizer.vocab_size)
        tokenizer = Tokenizer.train((side for pair in pairs for side in pair), experiment.tokenizer)
        (out / "resume").mkdir(parents=True, exist_ok=True)
        write_atomically(out / "resume" / "tokenizer.model", tokenizer.model)
    trainer = Trainer(experiment, tokenizer, pairs, valid_pairs, out, device)
    if unfinished:
        trainer.resume()
    trainer.run()
