"""Training replay: attention and output of a model at some steps of its training; a file of its checkpoint."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np
import safetensors
import torch
from safetensors.numpy import load_file

from ..arrays import read_only
from ..files import check_tensors, reading, save_tensors
from ..model.names import AttentionKind
from ..untrusted import MEGABYTE

REPLAY_FILE = "replay.safetensors"
SNAPSHOTS = 25
_LARGEST_FILE = 20 * MEGABYTE  # our own have 2 MB at most
_ARRAYS = (*AttentionKind, "probabilities")


class _Texts(msgspec.Struct):
    """Texts of one probe, as the file holds them."""

    source_text: str
    target_text: str
    source_tokens: tuple[str, ...]
    decoder_input_tokens: tuple[str, ...] = msgspec.field(name="fed_tokens")
    target_tokens: tuple[str, ...] = msgspec.field(name="next_tokens")
    outputs: tuple[str, ...]


class _Header(msgspec.Struct):
    score_name: str
    trajectories: tuple[_Texts, ...]


@dataclass(frozen=True, eq=False)
class ProbeTrajectory:
    """One probe, the same pair of source and target at every snapshot. Arrays are float32 and read-only.

    encoder: [snapshots, layers, heads, source, source], decoder: [snapshots, layers, heads, target, target],
    cross: [snapshots, layers, heads, target, source], of the teacher-forced pass over source and `target_text`; kept
    with 11 bits, so exact to 0.0003. Decoder row t was fed `decoder_input_tokens[t]`; `target_tokens[t]` follows, to
    which the model gave probabilities[snapshot, t]. `outputs[snapshot]` is its own greedy translation.
    """

    source_text: str
    target_text: str
    source_tokens: tuple[str, ...]
    decoder_input_tokens: tuple[str, ...]
    target_tokens: tuple[str, ...]
    outputs: tuple[str, ...]
    encoder: np.ndarray
    decoder: np.ndarray
    cross: np.ndarray
    probabilities: np.ndarray


@dataclass(frozen=True, eq=False)
class TrainingReplay:
    """A training run in snapshots, from step 0 on, with its curves.

    steps: [snapshots], optimiser steps done at each, rising. losses: [points, 2], step and mean training loss in nats
    up to it. scores: [points, 2], step and the measure `score_name`, such as "BLEU". Read-only.
    """

    steps: np.ndarray
    trajectories: tuple[ProbeTrajectory, ...]
    losses: np.ndarray
    scores: np.ndarray
    score_name: str

    def save(self, path: Path) -> None:
        """Write one safetensors file, in one piece; weights and probabilities with 16 bits."""
        arrays = {"steps": self.steps, "losses": self.losses, "scores": self.scores}
        for number, trajectory in enumerate(self.trajectories):
            for name in _ARRAYS:
                arrays[f"{number}/{name}"] = getattr(trajectory, name).astype(np.float16)
        texts = msgspec.convert(self.trajectories, tuple[_Texts, ...], from_attributes=True)
        header = msgspec.json.encode(_Header(self.score_name, texts))
        arrays["texts"] = np.frombuffer(header, dtype=np.uint8)
        save_tensors(Path(path), {name: torch.tensor(array) for name, array in arrays.items()})


def load_replay(path: Path) -> TrainingReplay:
    """Read a training replay of up to 20 MB; raises CheckpointError when it is missing, damaged, or no replay."""
    path = Path(path)
    wrong = (KeyError, TypeError, ValueError, RecursionError, safetensors.SafetensorError)
    with reading(path, "is damaged or no training replay", *wrong):
        check_tensors(path, _LARGEST_FILE)
        replay = _read(load_file(path))
        _check(replay)
    return replay


def snapshot_steps(max_steps: int) -> list[int]:
    """Return the steps to keep in a run of known length: 0, then each a constant factor after the one before.

    Early steps change more than late ones. Fewer than `SNAPSHOTS` where there are not as many steps.
    """
    first = max(1, max_steps // 500)
    later = np.geomspace(first, max_steps, SNAPSHOTS - 1).round().astype(int)
    return [0, *dict.fromkeys(later.tolist())]


def points(pairs: Sequence[tuple[int, float]]) -> np.ndarray:
    """Pairs of a step and a value as a curve: [points, 2], read-only."""
    return read_only(np.array(pairs, dtype=np.float64).reshape(-1, 2))


def _read(arrays: dict[str, np.ndarray]) -> TrainingReplay:
    header = msgspec.json.decode(arrays["texts"].tobytes(), type=_Header)
    return TrainingReplay(
        steps=_finite(arrays["steps"]),
        trajectories=tuple(_read_trajectory(arrays, *each) for each in enumerate(header.trajectories)),
        losses=_finite(arrays["losses"]),
        scores=_finite(arrays["scores"]),
        score_name=header.score_name,
    )


def _read_trajectory(arrays: dict[str, np.ndarray], number: int, texts: _Texts) -> ProbeTrajectory:
    maps = {name: _finite(arrays[f"{number}/{name}"].astype(np.float32)) for name in _ARRAYS}
    return ProbeTrajectory(**msgspec.structs.asdict(texts), **maps)  # type: ignore[arg-type]


def _finite(array: np.ndarray) -> np.ndarray:
    if not np.isfinite(array).all():
        raise ValueError("it holds values that are not finite numbers")
    return read_only(array)


def _check(replay: TrainingReplay) -> None:
    """Raise ValueError where the parts of a replay do not fit each other."""
    steps = replay.steps
    fits = (
        steps.ndim == 1
        and len(steps) > 0
        and steps.dtype.kind == "i"
        and steps[0] >= 0
        and (np.diff(steps) > 0).all()
        and len(replay.trajectories) > 0
        and all(_rises(curve) for curve in (replay.losses, replay.scores))
        and all(_is_complete(trajectory, len(steps)) for trajectory in replay.trajectories)
    )
    if not fits:
        raise ValueError("its parts do not fit each other")


def _is_complete(trajectory: ProbeTrajectory, snapshots: int) -> bool:
    """Return whether a trajectory has all parts, for this number of snapshots."""
    source, target = len(trajectory.source_tokens), len(trajectory.decoder_input_tokens)
    return (
        source * target > 0
        and len(trajectory.target_tokens) == target
        and len(trajectory.outputs) == snapshots
        and _are_weights(trajectory.encoder, snapshots, (source, source))
        and _are_weights(trajectory.decoder, snapshots, (target, target))
        and _are_weights(trajectory.cross, snapshots, (target, source))
        and trajectory.decoder.shape[1:3] == trajectory.cross.shape[1:3]
        and trajectory.probabilities.shape == (snapshots, target)
        and _are_shares(trajectory.probabilities)
    )


def _are_weights(maps: np.ndarray, snapshots: int, shape: tuple[int, int]) -> bool:
    """Return whether these are weights of this number of snapshots, each [layers, heads, *shape]."""
    fits = maps.ndim == 5 and maps.shape[0] == snapshots and maps.shape[3:] == shape
    return fits and maps.size > 0 and _are_shares(maps)


def _are_shares(values: np.ndarray) -> bool:
    return bool(values.min() >= 0 and values.max() <= 1)


def _rises(curve: np.ndarray) -> bool:
    """Return whether these are points [points, 2] in the order of their steps."""
    return curve.ndim == 2 and curve.shape[1] == 2 and bool((np.diff(curve[:, 0]) >= 0).all())
