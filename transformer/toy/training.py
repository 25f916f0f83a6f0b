"""Training on a toy task: seconds from random weights to a model that makes no mistake, with a replay of it."""

import itertools
import json
import random
import time
from collections.abc import Iterator
from dataclasses import asdict, replace
from operator import eq
from pathlib import Path

import torch
from torch import Tensor

from ..config import Positions, TrainingConfig
from ..decoding.sampling import Greedy, decode
from ..errors import UserError
from ..files import write_atomically
from ..model.device import keep_freed_memory
from ..model.distributed import Processes
from ..model.transformer import Transformer
from ..training import REPLAY_FILE, NotFiniteError, ReplayRecorder, TrainingReplay, Updater, attention_kernel, noam_rate
from .settings import HELD_OUT, STATUS_FILE, ToySchedule, ToySettings, ToyStatus, ToyTokenizer

BATCH = 32  # sequences an update
SCORE_NAME = "exact match"

_CHECK_EVERY = 25  # updates between two measurements
_GLANCE = 100  # held-out sequences of a first look; all are measured when these are good
_SNAPSHOT_EVERY = 10  # updates between two snapshots, twice as many each time that there are too many
_MOST_SNAPSHOTS = 32
_LOSSES_PER_POINT = 5
_REPORT_SECONDS = 0.5


class ToyData:
    """Random sequences of a task with their answers; those held out are never among those trained on."""

    def __init__(self, settings: ToySettings):
        self.settings = settings
        self._random = random.Random(settings.seed)
        self.ids = range(ToyTokenizer.first_id, ToyTokenizer.first_id + settings.vocabulary)
        held_out: dict[tuple[int, ...], None] = {}  # in the order in which they were drawn
        while len(held_out) < HELD_OUT:
            held_out[self._draw()] = None
        self.held_out = list(held_out)
        self._held_out = set(held_out)

    def batch(self, size: int) -> tuple[Tensor, Tensor, Tensor]:
        """Source, decoder input and decoder target of new sequences, each [size, length + 1]."""
        rows: list[tuple[int, ...]] = []
        while len(rows) < size:
            row = self._draw()
            if row not in self._held_out:
                rows.append(row)
        begin, end = ToyTokenizer.begin_id, ToyTokenizer.end_id
        answers = [self.settings.task.answer(row) for row in rows]
        return (
            torch.tensor([[*row, end] for row in rows]),
            torch.tensor([[begin, *row] for row in answers]),
            torch.tensor([[*row, end] for row in answers]),
        )

    def sources(self, number: int) -> Iterator[tuple[list[int], tuple[int, ...]]]:
        """Yield the first held-out sequences as the model reads them, each with its answer's ids, end included."""
        end = ToyTokenizer.end_id
        for row in self.held_out[:number]:
            yield [*row, end], (*self.settings.task.answer(row), end)

    def _draw(self) -> tuple[int, ...]:
        return tuple(self._random.choices(self.ids, k=self.settings.length))


class ToyTraining:
    """One run of `settings` on the CPU; its randomness is the settings' seed alone.

    The updates are the trainer's own, a new batch of 32 sequences each. Small matrices gain nothing on a GPU.
    """

    def __init__(self, settings: ToySettings):
        self.settings = settings
        self.tokenizer = settings.tokenizer()
        self.data = ToyData(settings)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(settings.seed)
            self.model = Transformer(settings.model_config())
        training = TrainingConfig(label_smoothing=float(settings.label_smoothing))
        self.updater = Updater(self.model, training, Processes())
        self.losses: list[tuple[int, float]] = []
        self.scores: list[tuple[int, float]] = []
        probe = self.data.held_out[0]
        source, target = map(self.tokenizer.decode, (probe, settings.task.answer(probe)))
        self.recorder = ReplayRecorder(self.tokenizer, [(source, target)])
        self._snapshot_every = _SNAPSHOT_EVERY

    def run(self) -> Iterator[ToyStatus]:
        """Train; yields a status before and after each update; raises UserError when the loss is no finite number."""
        settings, started = self.settings, time.monotonic()
        recent: list[float] = []
        exact, measured = self._measure(0)
        self._record(0)
        yield ToyStatus(0, None, exact, measured, 0.0, 0.0, "")
        for update in itertools.count(1):
            recent.append(self.update(update))
            end = "limit" if update == settings.max_updates else ""
            if len(recent) == _LOSSES_PER_POINT or end:
                self.losses.append((update, sum(recent) / len(recent)))
                recent.clear()
            if update % _CHECK_EVERY == 0 or end:
                exact, measured = self._measure(update)
                end = "goal" if exact >= settings.goal and measured == HELD_OUT else end
            if update % self._snapshot_every == 0 or end:
                self._record(update)
            seconds = time.monotonic() - started
            loss = self.losses[-1][1] if self.losses else recent[-1]
            longer = self.symbols_when_longer() if end else None
            yield ToyStatus(update, loss, exact, measured, seconds, update / seconds, end, longer)
            if end:
                return

    def update(self, number: int) -> float:
        """Make one update, counted from 1; returns the mean loss a target token in nats."""
        batch = self.data.batch(BATCH)
        with attention_kernel(torch.device("cpu")):
            try:
                return self.updater.learn([batch], batch[-1].numel(), toy_rate(number, self.settings))
            except NotFiniteError as error:
                message = f"The loss of update {number} is no finite number any more: try a lower rate_factor."
                raise UserError(message) from error

    def replay(self) -> TrainingReplay:
        """Return the replay so far."""
        return self.recorder.replay(self.losses, self.scores, SCORE_NAME)

    def symbols_when_longer(self) -> float | None:
        """Return the share of symbols that stand right in 100 sequences twice as long as those it is trained on.

        None where positions are learned: there are none for what stands further back.
        """
        if self.settings.positions == Positions.LEARNED:
            return None
        with torch.random.fork_rng(devices=[]):
            model = Transformer(replace(self.settings.model_config(), max_length=2 * self.settings.length + 1))
        model.set_weights(dict(self.model.named_parameters()))
        chance = random.Random(f"{self.settings.seed} twice as long")
        rows = [[chance.choice(self.data.ids) for _ in range(2 * self.settings.length)] for _ in range(_GLANCE)]
        written = decode(model.eval(), [[*row, ToyTokenizer.end_id] for row in rows], Greedy())
        answers = [self.settings.task.answer(row) for row in rows]
        right = sum(sum(map(eq, each.ids, answer)) for each, answer in zip(written, answers, strict=True))
        return right / (2 * self.settings.length * _GLANCE)

    def _measure(self, update: int) -> tuple[float, int]:
        """Exact match on held-out sequences, and of how many."""
        self.model.eval()
        measured = _GLANCE
        exact = self._exact_match(_GLANCE)
        if exact >= self.settings.goal:
            exact, measured = self._exact_match(HELD_OUT), HELD_OUT
        self.model.train()
        self.scores.append((update, exact))
        return exact, measured

    def _exact_match(self, number: int) -> float:
        sources, answers = zip(*self.data.sources(number), strict=True)
        written = decode(self.model, sources, Greedy())
        return sum(hypothesis.ids == right for hypothesis, right in zip(written, answers, strict=True)) / number

    def _record(self, update: int) -> None:
        """Take a snapshot; of too many, keep every second one, the first and the newest among them."""
        self.recorder.record(self.model, update)
        if len(self.recorder.steps) > _MOST_SNAPSHOTS:
            self.recorder.downsample()
            self._snapshot_every *= 2


def toy_rate(update: int, settings: ToySettings) -> float:
    """Return the learning rate of an update, from 1; all schedules have the same peak."""
    warmup = settings.warmup_steps
    if settings.schedule is ToySchedule.NOAM:
        return settings.rate_factor * noam_rate(update, settings.d_model, warmup)
    peak = settings.rate_factor * noam_rate(warmup, settings.d_model, warmup)
    return peak if settings.schedule is ToySchedule.NONE else peak * min(1.0, update / warmup)


def train_toy(settings: ToySettings, folder: Path) -> ToyStatus:
    """Train, keeping status.json and the training replay in `folder` up to date; returns the end.

    Whoever reads a file sees it whole.
    """
    keep_freed_memory()
    folder = Path(folder)
    written = -1.0
    training = ToyTraining(settings)
    newest = -1
    for status in training.run():
        if status.end or status.seconds - written >= _REPORT_SECONDS or not status.update:
            if training.recorder.steps[-1] != newest:
                training.replay().save(folder / REPLAY_FILE)
                newest = training.recorder.steps[-1]
            write_atomically(folder / STATUS_FILE, json.dumps(asdict(status)).encode())
            written = status.seconds
    return status
