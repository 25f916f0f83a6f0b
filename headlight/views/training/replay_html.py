"""A training replay as a page of its own, which needs no server."""

from headlight.components.standalone import Words, standalone

_LOOK_FOR = (
    "Play it, or move the slider: what the model wrote by then, every head's map, and the curves. Point at a small map "
    "and its weights are read out. To see another head large takes the app."
)


def replay_page(payload: dict, step: int, checkpoint: str) -> str:
    """One HTML file of a replay (see `replay_payload`), at the snapshot nearest to a training step."""
    words = Words("The replay of a training", payload["source"], payload["target"], checkpoint, _LOOK_FOR)
    return standalone("replay_player/player", {**payload, "step": step, "following": False}, words)
