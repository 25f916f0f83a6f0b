"""Replays of the trainings of checkpoints."""

from pathlib import Path

from headlight.app import results
from headlight.app.finding import Templates
from transformer.training import REPLAY_FILE, TrainingReplay, load_replay

from . import CheckpointFiles, cached

TEMPLATES = Templates.beside(__file__)


def replay_names() -> list[str]:
    """Return the names of the checkpoints that have a replay of their training."""
    return [name for name in results.checkpoint_names() if (results.CHECKPOINTS / name / REPLAY_FILE).is_file()]


@cached(max_entries=4, show_spinner=TEMPLATES.notice("replay"))
def replay(checkpoint: CheckpointFiles) -> TrainingReplay:
    """Return the replay of a checkpoint's training."""
    return load_replay(Path(checkpoint.folder) / REPLAY_FILE)
