"""The recorder of a training replay: takes snapshots of probes while a model is trained."""

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
from .replay import REPLAY_FILE, ProbeTrajectory, TrainingReplay, load_replay, points, snapshot_steps
from .state import Progress

logger = logging.getLogger(__name__)


class Vocabulary(Protocol):
    """Tokenizer of a recorder: ids of a text, and the text of ids."""

    begin_id: int
    end_id: int

    def encode(self, text: str) -> list[int]: ...
    def decode(self, ids: Sequence[int]) -> str: ...
    def piece_text(self, token_id: int) -> str: ...


class ReplayRecorder:
    """Takes snapshots of probes while a model is trained; draws no random number, so training stays the same.

    probes: pairs of source and target text. Raises ValueError when there is none or one has no token.
    """

    def __init__(self, vocabulary: Vocabulary, probes: Sequence[tuple[str, str]]):
        self.vocabulary, self.probes = vocabulary, [(str(source), str(target)) for source, target in probes]
        self._ids = [(vocabulary.encode(source), vocabulary.encode(target)) for source, target in self.probes]
        if not self._ids or not all(source and target for source, target in self._ids):
            raise ValueError(f"probes must be pairs of texts that have tokens, got {self.probes}")
        self.steps: list[int] = []
        self._snapshots: list[list[dict]] = []  # [snapshot][probe]

    def record(self, model: Transformer, step: int) -> None:
        """Take a snapshot; the model is put into eval mode for it and back."""
        training = model.training
        model.eval()
        try:
            self._snapshots.append([self._pass(model, source, target) for source, target in self._ids])
        finally:
            model.train(training)
        self.steps.append(step)

    def downsample(self) -> None:
        """Drop every second snapshot, the first one kept."""
        self.steps, self._snapshots = self.steps[::2], self._snapshots[::2]

    def resume(self, replay: TrainingReplay, until: int) -> None:
        """Go on from a replay, its snapshots after step `until` left out; raises ValueError for one of other probes."""
        if [(trajectory.source_text, trajectory.target_text) for trajectory in replay.trajectories] != self.probes:
            raise ValueError("the replay is of other probes")
        numbers = [number for number, step in enumerate(replay.steps) if step <= until]
        self.steps = [int(replay.steps[number]) for number in numbers]
        self._snapshots = [[_snapshot(trajectory, number) for trajectory in replay.trajectories] for number in numbers]

    def replay(
        self, losses: Sequence[tuple[int, float]], scores: Sequence[tuple[int, float]], score_name: str
    ) -> TrainingReplay:
        """Everything kept so far; raises ValueError before the first snapshot."""
        if not self.steps:
            raise ValueError("no snapshot was taken yet")
        return TrainingReplay(
            steps=read_only(np.array(self.steps, dtype=np.int64)),
            trajectories=tuple(map(self._trajectory, range(len(self.probes)))),
            losses=points(losses),
            scores=points(scores),
            score_name=score_name,
        )

    def _pass(self, model: Transformer, source: list[int], target: list[int]) -> dict:
        """Return a probe in one snapshot: its maps and probabilities, and the model's own output."""
        source = [*source, self.vocabulary.end_id]
        seen = record(model, [source], [[self.vocabulary.begin_id, *target]])
        chosen = torch.tensor([*target, self.vocabulary.end_id], device=seen.logits.device)
        probabilities = seen.logits[0].softmax(dim=-1).gather(1, chosen[:, None])[:, 0]
        written = decode(model, [source], Greedy())[0].ids
        maps = {kind: to_array(seen.weights(kind)[:, 0]) for kind in AttentionKind}
        return {**maps, "probabilities": probabilities.cpu().numpy(), "output": self.vocabulary.decode(written)}

    def _trajectory(self, probe: int) -> ProbeTrajectory:
        snapshots = [snapshot[probe] for snapshot in self._snapshots]
        (source_text, target_text), (source, target) = self.probes[probe], self._ids[probe]
        begin, end = self.vocabulary.begin_id, self.vocabulary.end_id
        arrays = {name: [snapshot[name] for snapshot in snapshots] for name in (*AttentionKind, "probabilities")}
        return ProbeTrajectory(
            source_text=source_text,
            target_text=target_text,
            source_tokens=self._tokens([*source, end]),
            decoder_input_tokens=self._tokens([begin, *target]),
            target_tokens=self._tokens([*target, end]),
            outputs=tuple(snapshot["output"] for snapshot in snapshots),
            **{name: read_only(np.stack(values)) for name, values in arrays.items()},
        )

    def _tokens(self, ids: list[int]) -> tuple[str, ...]:
        return tuple(map(self.vocabulary.piece_text, ids))


def _snapshot(trajectory: ProbeTrajectory, number: int) -> dict:
    """Return a probe in one snapshot, as a recorder keeps it."""
    arrays = {name: getattr(trajectory, name)[number] for name in (*AttentionKind, "probabilities")}
    return {**arrays, "output": trajectory.outputs[number]}


class RunReplay:
    """The replay of a training run: the experiment's probes at some of its `steps`; without probes, nothing happens.

    `folder` is where an unfinished run is kept. Raises ConfigError for a probe that the model cannot read.
    """

    def __init__(self, experiment: Experiment, tokenizer: Tokenizer, folder: Path):
        self.path = folder / REPLAY_FILE
        probes, limit = experiment.replay.probes, experiment.model.max_length - 1
        for text in (side for probe in probes for side in probe):
            length = len(tokenizer.encode(text))
            if not 0 < length <= limit:
                raise ConfigError(f"The replay's probe {text!r} has {length} tokens; the model reads 1 to {limit}.")
        self.recorder = ReplayRecorder(tokenizer, probes) if probes else None
        self.steps = set(snapshot_steps(experiment.training.max_steps)) if probes else set()
        self._unsaved = False

    def record(self, model: Transformer, step: int) -> None:
        """Take a snapshot where this is one of the steps and not taken yet."""
        if self.recorder and step in self.steps and step not in self.recorder.steps:
            self.recorder.record(model, step)
            self._unsaved = True

    def save(self, progress: Progress) -> None:
        """Keep what is there for a resumed run; a save of the run's state comes after it, never before."""
        if self._unsaved:
            self._write(self.path, progress)
            self._unsaved = False

    def publish(self, folder: Path, progress: Progress) -> None:
        """Write the replay so far to a checkpoint's folder."""
        if self.recorder and self.recorder.steps:
            self._write(folder / REPLAY_FILE, progress)

    def resume(self, step: int) -> None:
        """Go on with the replay of a run that is resumed at `step`; raises ConfigError when it is of other probes."""
        if not self.recorder:
            return
        try:
            self.recorder.resume(load_replay(self.path), until=step)
        except CheckpointError as error:
            logger.warning("%s The replay begins at step %d.", error, step)
        except ValueError as error:
            message = f"The training replay in {self.path} is of other probes than the configuration's [replay]."
            raise ConfigError(message) from error

    def _write(self, path: Path, progress: Progress) -> None:
        scores = [(row["step"], row["valid_bleu"]) for row in progress.history]
        self.recorder.replay(progress.curve, scores, "BLEU").save(path)  # type: ignore[arg-type, union-attr]
