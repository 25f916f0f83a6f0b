"""The training replay in the live page: so much of it as its file has room for."""

import base64
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from headlight.views.training.replay_content import (
    WORDS,
    ShownHead,
    averaging_words,
    focus_of,
    output_story,
    replay_payload,
)
from transformer.errors import CheckpointError
from transformer.training.replay import REPLAY_FILE, ProbeTrajectory, TrainingReplay, load_replay

SNAPSHOTS, LOSSES, LEVELS = 13, 200, 255  # at most so many; into how many parts a weight of 1 is divided
MOST_BYTES = 40_000  # of what the page is told of it
_KIND = "cross"


def find_replay(folder: Path) -> TrainingReplay | None:
    """Return the replay of a checkpoint's training; None where it has none that can be read."""
    path = folder / REPLAY_FILE
    try:
        return load_replay(path) if path.is_file() else None
    except CheckpointError:
        return None


def replay_words(replay: TrainingReplay | None, names: tuple[str, str], training: dict) -> dict | None:
    """Return what the page is told of a training, ready for JSON; None where no part of it is small enough.

    names: of source and target; training: the checkpoint's training.json. Of the sentences the longest that fits is
    shown, with its cross-attention alone.
    """
    by_size = sorted(replay.trajectories, key=lambda each: -each.cross[0].size) if replay else []
    for trajectory in by_size:
        assert replay is not None, "it has trajectories"
        told = _told(replay, trajectory, names, training)
        if len(json.dumps(told)) <= MOST_BYTES:
            return told
    return None


def reduced(replay: TrainingReplay, trajectory: ProbeTrajectory) -> tuple[TrainingReplay, ProbeTrajectory]:
    """Return a replay of one trajectory with fewer snapshots and losses, weights rounded as they are kept."""
    kept, curve = (_spread(len(each), most) for each, most in ((replay.steps, SNAPSHOTS), (replay.losses, LOSSES)))
    arrays = {name: getattr(trajectory, name)[kept] for name in ("encoder", "decoder", "probabilities")}
    cross = (np.rint(trajectory.cross[kept] * LEVELS) / LEVELS).astype(np.float32)
    fewer = replace(trajectory, outputs=tuple(trajectory.outputs[at] for at in kept), cross=cross, **arrays)
    return replace(replay, steps=replay.steps[kept], trajectories=(fewer,), losses=replay.losses[curve]), fewer


def _spread(count: int, most: int) -> Sequence[int]:
    """Return so many places of a list, both ends among them."""
    places: list[int] = np.unique(np.linspace(0, count - 1, min(most, count)).round().astype(int)).tolist()
    return places


def _told(whole: TrainingReplay, trajectory: ProbeTrajectory, names: tuple[str, str], training: dict) -> dict:
    replay, shown = reduced(whole, trajectory)
    focus = focus_of(replay, shown, _KIND)
    layer, head = focus.most_changed()
    payload = replay_payload(replay, shown, focus, ShownHead(_KIND, layer, head), names)
    *curves, of_head = payload["curves"] if focus.known else [*payload["curves"], None]
    weights = np.rint(shown.cross * LEVELS).astype(np.uint8)
    story = output_story(replay, shown)
    return {
        **payload,
        "weights": base64.b64encode(weights.tobytes()).decode("ascii"),
        "texts": [{name: text for name, text in texts.items() if name != "head"} for texts in payload["texts"]],
        "curves": curves,
        "of_head": of_head and {name: of_head[name] for name in ("title", "high", "ticks")},
        "focus": [[round(float(value), 6) for value in values.ravel()] for values in focus.values],
        "uniform": focus.uniform if focus.known else None,
        "story": vars(story),
        "words": WORDS,
        "notes": [
            WORDS["reduced"].format(snapshots=len(replay.steps), all=len(whole.steps)),
            WORDS["about"],
            *filter(None, [averaging_words(training)]),
        ],
    }
