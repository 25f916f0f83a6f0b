"""The training replay in the live page: so much of it as its file has room for."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from headlight.app.finding import Templates
from headlight.views.training import replay_content
from headlight.views.training.replay_content import averaging_words, focus_of, output_story, replay_facts
from transformer.errors import CheckpointError
from transformer.training import REPLAY_FILE, ProbeTrajectory, TrainingReplay, load_replay

SNAPSHOTS, LOSSES = 13, 200  # at most so many
MOST_BYTES = 90_000  # of a replay's facts as JSON
_KIND = "cross"
TEMPLATES = Templates.beside(__file__)


def find_replay(folder: Path) -> TrainingReplay | None:
    """Return the replay of a checkpoint's training; None where it has none that can be read."""
    path = folder / REPLAY_FILE
    try:
        return load_replay(path) if path.is_file() else None
    except CheckpointError:
        return None


def replay_words(replay: TrainingReplay | None, names: tuple[str, str], training: dict) -> dict | None:
    """Return the page's data on a training, ready for JSON; None where no part of it is small enough.

    names: of source and target; training: the checkpoint's training.json. Of the sentences the longest that fits is
    shown, with its cross-attention alone.
    """
    by_size = sorted(replay.trajectories, key=lambda each: -each.cross[0].size) if replay else []
    for trajectory in by_size:
        assert replay is not None, "it has trajectories"
        words = _words(replay, trajectory, names, training)
        if len(json.dumps(words)) <= MOST_BYTES:
            return words
    return None


def reduced(replay: TrainingReplay, trajectory: ProbeTrajectory) -> tuple[TrainingReplay, ProbeTrajectory]:
    """Return a replay of one trajectory with fewer snapshots and losses."""
    snapshots, curve = (_spread(len(each), most) for each, most in ((replay.steps, SNAPSHOTS), (replay.losses, LOSSES)))
    arrays = {name: getattr(trajectory, name)[snapshots] for name in ("encoder", "decoder", "cross", "probabilities")}
    fewer = replace(trajectory, outputs=tuple(trajectory.outputs[at] for at in snapshots), **arrays)
    return replace(replay, steps=replay.steps[snapshots], trajectories=(fewer,), losses=replay.losses[curve]), fewer


def _spread(count: int, most: int) -> Sequence[int]:
    """Return so many places of a list, both ends among them."""
    places: list[int] = np.unique(np.linspace(0, count - 1, min(most, count)).round().astype(int)).tolist()
    return places


def _words(whole: TrainingReplay, trajectory: ProbeTrajectory, names: tuple[str, str], training: dict) -> dict:
    replay, shown = reduced(whole, trajectory)
    heads = list(np.ndindex(*shown.cross.shape[1:3]))
    story = output_story(replay, shown)
    reduction = TEMPLATES.text("reduction", shown=len(replay.steps), snapshots=len(whole.steps))
    about, attempt = (replay_content.TEMPLATES.text(name) for name in ("about", "attempt"))
    return {
        "facts": replay_facts(replay, shown, _KIND, focus_of(replay, shown, _KIND), heads, names),
        "finding": {"headline": story.headline, "more": story.more, "attempt": attempt},
        "notes": [reduction, about, *filter(None, [averaging_words(training)])],
    }
