"""The training replay: snapshots of a training that are scrubbed and played in the browser, sent there once."""

from collections.abc import Callable

from headlight.components.bundle import component

NEWEST = -1  # as a step: wherever the replay ends now
_player = component("replay_player", "replay_player/player")


def replay_player(
    replay: dict,
    step: int,
    following: bool,
    name: str,
    on_step: Callable[[int], None],
    on_head: Callable[[int, int], None],
) -> None:
    """Show a replay (see replay_payload.py) at the snapshot nearest to a training step, or the NEWEST.

    `name` is the replay's own, whatever its letters: another replay has another.

    Scrubbing and playing happen in the browser alone. Back come the step where the user stopped, NEWEST for the end of
    a replay that is `following` its training, and a head chosen among all (layer, head, counted from 0). While
    following, who stands at the end stays there as snapshots are added; who has scrubbed back stays where they are.
    """
    # Streamlit refuses a component's key with two underscores in a row, and names of checkpoints and of trainings,
    # which are random, may have them.
    key = f"replay-{name.encode().hex()}"
    _player(
        {**replay, "step": step, "following": following},
        key,
        step=lambda value: on_step(int(value)),
        head=lambda value: on_head(*map(int, value)),
    )
