"""Batches of the updates of a run, as examples and as tensors on the training device."""

import functools
import signal
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch.utils.data import DataLoader

from ..config import Experiment
from ..data.batching import Example, Examples, collate, epoch_batches
from ..data.mixture import MixedExamples, Mixture, WeightedPairs
from ..data.pairs import TextPairs, first_of
from ..data.tokenizer import Tokenizer
from ..model.distributed import Processes
from .state import Progress
from .updates import Tensors

EPOCH_SEED = 100_003  # keeps the shuffles, and the dropout, of neighbouring seeds apart

_WORKERS = 2  # processes that make batches ready for a GPU while it computes
_SHOWN_LINES = 8  # line numbers named of a batch that cannot be learned from


@dataclass(frozen=True)
class Update:
    """Batches of one update, with its `step`, `epoch` and the number of its `first` batch, from 1."""

    batches: Sequence[Examples]
    step: int
    epoch: int
    first: int

    @property
    def tokens(self) -> int:
        """Target tokens that are predicted: all but begin of sentence."""
        return sum(len(example.target) - 1 for batch in self.batches for example in batch)

    def describe(self, number: int) -> str:
        """Return step, epoch, batch and lines of the corpus of its batch of this number, from 0."""
        origins = sorted(origin for example in self.batches[number] for origin in example.places)
        lines = [f"{file}:{line}" if file else line for file, line in origins]
        shown = f", lines {first_of(lines, _SHOWN_LINES)} of the corpus" if lines else ""
        return f"step {self.step} (epoch {self.epoch}, batch {self.first + number}{shown})"


class UpdateLoader:
    """Loader of a run's updates; raises DataError when no pair fits the model."""

    def __init__(
        self,
        experiment: Experiment,
        tokenizer: Tokenizer,
        pairs: TextPairs | Mixture,
        device: torch.device,
        processes: Processes,
    ):
        self._settings, self._model = experiment.training, experiment.model
        self._device, self._processes = device, processes
        mixture = pairs if isinstance(pairs, Mixture) else Mixture([WeightedPairs(pairs)])
        self.mixture = MixedExamples(mixture, tokenizer, self._model.max_length, self._settings.segmentation_dropout)
        self.examples = self.mixture.all

    def remaining(self, progress: Progress) -> Iterator[tuple[Update, list[Tensors]]]:
        """Each update as examples and as tensors, from where the run stands until it is over; counts its batches."""
        while not progress.is_over(self._settings):
            groups = self._epoch(progress)
            loaded = load_updates(groups, self._model.pad_id, self._device, self._processes)
            for group, tensors in zip(groups, loaded, strict=True):
                if progress.is_over(self._settings):
                    return
                update = Update(group, progress.step + 1, progress.epoch + 1, progress.batch + 1)
                progress.batch += len(group)
                yield update, tensors
            progress.epoch, progress.batch = progress.epoch + 1, 0

    def _epoch(self, progress: Progress) -> list[list[list[Example]]]:
        """Return the batches of each update that is left of the epoch."""
        settings = self._settings
        seed, longest = settings.seed * EPOCH_SEED + progress.epoch, self._model.max_length
        examples = self.mixture.of_epoch(progress.epoch, settings.seed)
        batches = epoch_batches(examples, settings.batch_tokens, settings.join_probability, longest, seed)
        starts = range(progress.batch, len(batches), settings.accumulate)
        return [batches[start : start + settings.accumulate] for start in starts]


def load_updates(
    updates: Sequence[Sequence[Examples]], pad_id: int, device: torch.device, processes: Processes
) -> Iterator[list[Tensors]]:
    """For each update the tensors of each of its batches: this process's rows of them.

    For a GPU they are made ready ahead of time, in memory from where they are copied while it computes. No random
    number is drawn from the global generators.
    """
    on_gpu = device.type == "cuda"
    loader = DataLoader(  # type: ignore[var-annotated]
        updates,  # type: ignore[arg-type]
        batch_size=None,  # they are batches already
        collate_fn=functools.partial(_collate_shares, pad_id=pad_id, processes=processes),
        num_workers=_WORKERS if on_gpu else 0,
        pin_memory=on_gpu,
        worker_init_fn=_leave_signals_to_the_run,
        generator=torch.Generator(),
    )
    for batches in loader:
        yield [tuple(ids.to(device, non_blocking=on_gpu) for ids in batch) for batch in batches]


def _collate_shares(batches: Sequence[Examples], pad_id: int, processes: Processes) -> list[Tensors]:
    shares = []
    for batch in batches:
        rows = processes.share(batch)
        source, fed, predicted = collate(rows or batch[:1], pad_id)
        # Without a row there is nothing to predict: its loss and its gradients are 0.
        shares.append((source, fed, predicted if rows else torch.full_like(predicted, pad_id)))
    return shares


def _leave_signals_to_the_run(_worker: int) -> None:
    """Ignore interruptions, which reach every process of a terminal: the run answers them when its step is done."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
