"""Training on a toy task: seconds from random weights to a model that makes no mistake, filmed on the way."""

import itertools
import json
import math
import os
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

from ..decoding.sampling import Greedy, decode
from ..device import keep_freed_memory
from ..errors import UserError
from ..files import write_atomically
from ..model.transformer import Transformer
from ..training.optimization import adam, noam_rate, set_rate, smoothed_cross_entropy
from ..training.replay import FILE, Film
from ..training.replay_recorder import Camera
from .tasks import HELD_OUT, Alphabet, ToyData, ToySettings, answer

BATCH = 32  # sequences an update
STATUS = "status.json"
SCORE_NAME = "exact match"

_CHECK_EVERY = 25  # updates between two measurements
_GLANCE = 100  # held-out sequences of a first look; all are measured when these are good
_MOMENT_EVERY = 10  # updates between two moments of the film, twice as many each time that it has become too long
_MOST_MOMENTS = 32
_LOSSES_A_POINT = 5
_REPORT_SECONDS = 0.5


@dataclass(frozen=True)
class ToyStatus:
    """Where a run stands: updates done, mean loss in nats a token, share of held-out sequences written entirely right.

    `loss` is None before the first update, `measured` the number of sequences behind `exact_match`, `rate` in updates a
    second. `end` says how the run ended: "goal", "limit", or "" while it goes on.
    """

    update: int
    loss: float | None
    exact_match: float
    measured: int
    seconds: float
    rate: float
    end: str


class ToyTraining:
    """One run of `settings` on the CPU; its randomness is the settings' seed alone.

    Adam with the paper's betas (5.3), the gradient's norm clipped at 1, a new batch of 32 sequences an update. Small
    matrices gain nothing on a GPU.
    """

    def __init__(self, settings: ToySettings):
        self.settings = settings
        self.alphabet = Alphabet(settings.symbols, settings.vocabulary)
        self.data = ToyData(settings)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(settings.seed)
            self.model = Transformer(settings.model_config())
        self.optimizer = adam(self.model)
        self.losses: list[tuple[int, float]] = []
        self.scores: list[tuple[int, float]] = []
        probe = self.data.held_out[0]
        pair = tuple(map(self.alphabet.decode, (probe, answer(settings.task, probe))))
        self.camera = Camera(self.alphabet, [pair])
        self._moment_every = _MOMENT_EVERY

    def run(self) -> Iterator[ToyStatus]:
        """Train; yields where the run stands before the first update and after each, at last with its end.

        Raises UserError when the loss is no finite number any more.
        """
        settings, started = self.settings, time.monotonic()
        recent: list[float] = []
        exact, measured = self._measure(0)
        self._shoot(0)
        yield ToyStatus(0, None, exact, measured, 0.0, 0.0, "")
        for update in itertools.count(1):
            recent.append(self._update(update))
            end = "limit" if update == settings.max_updates else ""
            if len(recent) == _LOSSES_A_POINT or end:
                self.losses.append((update, sum(recent) / len(recent)))
                recent.clear()
            if update % _CHECK_EVERY == 0 or end:
                exact, measured = self._measure(update)
                end = "goal" if exact >= settings.goal and measured == HELD_OUT else end
            if update % self._moment_every == 0 or end:
                self._shoot(update)
            seconds = time.monotonic() - started
            loss = self.losses[-1][1] if self.losses else recent[-1]
            yield ToyStatus(update, loss, exact, measured, seconds, update / seconds, end)
            if end:
                return

    def film(self) -> Film:
        """The film so far."""
        return self.camera.film(self.losses, self.scores, SCORE_NAME)

    def _update(self, update: int) -> float:
        """One update; returns the mean loss a target token in nats."""
        source, fed, predicted = self.data.batch(BATCH)
        set_rate(self.optimizer, toy_rate(update, self.settings))
        self.optimizer.zero_grad(set_to_none=True)
        # On a CPU the fused attention is tuned for long sequences; these have some ten tokens.
        with sdpa_kernel(SDPBackend.MATH):
            logits = self.model(source, fed)
            total = smoothed_cross_entropy(logits, predicted, Alphabet.pad_id, self.settings.label_smoothing)
            loss = total / predicted.numel()
            loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        value = loss.item()
        if not math.isfinite(value):
            raise UserError(f"The loss of update {update} is no finite number any more: try a lower rate_factor.")
        return value

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

    def _shoot(self, update: int) -> None:
        """Keep a moment of the film; of too many, every second one, the first and the newest among them."""
        self.camera.shoot(self.model, update)
        if len(self.camera.steps) > _MOST_MOMENTS:
            self.camera.thin()
            self._moment_every *= 2

    def _exact_match(self, number: int) -> float:
        sources, answers = zip(*self.data.sources(number), strict=True)
        written = decode(self.model, sources, Greedy())
        return sum(found.ids == right for found, right in zip(written, answers, strict=True)) / number


def toy_rate(update: int, settings: ToySettings) -> float:
    """The learning rate of an update, from 1; all schedules have the same peak."""
    warmup = settings.warmup_steps
    peak = settings.rate_factor * noam_rate(warmup, settings.d_model, warmup)
    if settings.schedule == "noam":
        return settings.rate_factor * noam_rate(update, settings.d_model, warmup)
    return peak if settings.schedule == "none" else peak * min(1.0, update / warmup)


def train_toy(settings: ToySettings, folder: Path) -> ToyStatus:
    """Train, keeping status.json and film.safetensors in `folder` up to date; returns the end.

    Whoever reads a file sees it whole. Ends early, with an unfinished status, when the process that started this one
    is gone.
    """
    keep_freed_memory()
    folder = Path(folder)
    parent, written = os.getppid(), -1.0
    training = ToyTraining(settings)
    newest = -1
    for status in training.run():
        if status.end or status.seconds - written >= _REPORT_SECONDS or not status.update:
            if training.camera.steps[-1] != newest:
                training.film().save(folder / FILE)
                newest = training.camera.steps[-1]
            write_atomically(folder / STATUS, json.dumps(asdict(status)).encode())
            written = status.seconds
            if os.getppid() != parent:
                break
    return status
