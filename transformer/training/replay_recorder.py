"""Film: what the model attended to, and wrote, at moments of its training."""

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
import torch

from ..arrays import read_only, to_array
from ..config import Experiment
from ..data.tokenizer import Tokenizer
from ..decoding.sampling import Greedy, decode
from ..errors import CheckpointError, ConfigError
from ..interpret.activations import record
from ..model.names import AttentionKind
from ..model.transformer import Transformer
from .replay import FILE, Film, Reel, load_film, moments
from .state import Progress


class Vocabulary(Protocol):
    """What a film needs of a tokenizer: ids of a text, and the text of ids."""

    begin_id: int
    end_id: int

    def encode(self, text: str) -> list[int]: ...
    def decode(self, ids: Sequence[int]) -> str: ...
    def piece_text(self, id: int) -> str: ...


class Camera:
    """Keeps the moments of probes while a model is trained; draws no random number, so training stays the same.

    probes: pairs of source and target text. Raises ValueError when there is none or one has no token.
    """

    def __init__(self, vocabulary: Vocabulary, probes: Sequence[tuple[str, str]]):
        self.vocabulary, self.probes = vocabulary, [(str(source), str(target)) for source, target in probes]
        self._ids = [(vocabulary.encode(source), vocabulary.encode(target)) for source, target in self.probes]
        if not self._ids or not all(source and target for source, target in self._ids):
            raise ValueError(f"probes must be pairs of texts that have tokens, got {self.probes}")
        self.steps: list[int] = []
        self._shots: list[list[dict]] = []  # [moment][probe]

    def shoot(self, model: Transformer, step: int) -> None:
        """Keep this moment; the model is put into eval mode for it and back."""
        training = model.training
        model.eval()
        try:
            self._shots.append([self._shot(model, source, target) for source, target in self._ids])
        finally:
            model.train(training)
        self.steps.append(step)

    def thin(self) -> None:
        """Drop every second moment, the first one kept."""
        self.steps, self._shots = self.steps[::2], self._shots[::2]

    def take_up(self, film: Film, until: int) -> None:
        """Go on from an earlier film of the same probes, its moments after step `until` left out.

        Raises ValueError when it is of other probes.
        """
        if [(reel.source_text, reel.target_text) for reel in film.reels] != self.probes:
            raise ValueError("the film is of other probes")
        kept = [moment for moment, step in enumerate(film.steps) if step <= until]
        self.steps = [int(film.steps[moment]) for moment in kept]
        names = (*AttentionKind, "probabilities")
        self._shots = [
            [{**{n: getattr(reel, n)[m] for n in names}, "output": reel.outputs[m]} for reel in film.reels]
            for m in kept
        ]

    def film(self, losses: Sequence[tuple[int, float]], scores: Sequence[tuple[int, float]], score_name: str) -> Film:
        """Everything kept so far; raises ValueError before the first moment."""
        if not self.steps:
            raise ValueError("no moment was kept yet")
        return Film(
            read_only(np.array(self.steps, dtype=np.int64)), tuple(map(self._reel, range(len(self.probes)))),
            _curve(losses), _curve(scores), score_name,
        )  # fmt: skip

    def _shot(self, model: Transformer, source: list[int], target: list[int]) -> dict:
        source = [*source, self.vocabulary.end_id]
        seen = record(model, [source], [[self.vocabulary.begin_id, *target]])
        chosen = torch.tensor([*target, self.vocabulary.end_id], device=seen.logits.device)
        probabilities = seen.logits[0].softmax(dim=-1).gather(1, chosen[:, None])[:, 0]
        written = decode(model, [source], Greedy())[0].ids
        maps = {kind: to_array(seen.weights(kind)[:, 0]) for kind in AttentionKind}
        return {**maps, "probabilities": probabilities.cpu().numpy(), "output": self.vocabulary.decode(written)}

    def _reel(self, number: int) -> Reel:
        shots = [shot[number] for shot in self._shots]
        (source_text, target_text), (source, target) = self.probes[number], self._ids[number]
        text, begin, end = self.vocabulary.piece_text, self.vocabulary.begin_id, self.vocabulary.end_id
        return Reel(
            source_text, target_text,
            tuple(map(text, [*source, end])), tuple(map(text, [begin, *target])), tuple(map(text, [*target, end])),
            tuple(shot["output"] for shot in shots),
            *(read_only(np.stack([shot[name] for shot in shots])) for name in (*AttentionKind, "probabilities")),
        )  # fmt: skip


def _curve(points: Sequence[tuple[int, float]]) -> np.ndarray:
    return read_only(np.array(points, dtype=np.float64).reshape(-1, 2))


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
