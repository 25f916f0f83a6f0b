"""The decoding player as a page of its own, which needs no server."""

from headlight.components.standalone import Words, standalone
from transformer.interpret.trace import Trace

_LOOK_FOR = (
    "Play it, or go from step to step with the arrow keys: the ten most probable next tokens, the one that was taken, "
    "and what each head reads in that step. To force another token takes the model, and so the app."
)


def decoding_page(steps: dict, step: int, trace: Trace, checkpoint: str) -> str:
    """One HTML file of the player with its `steps` (see `payload.decoding_steps`), at a step counted from 1."""
    fixed = [{**each, "takable": False} for each in steps["steps"]]
    words = Words("A translation, step by step", trace.source_text, trace.target_text, checkpoint, _LOOK_FOR)
    return standalone("decoding_player/player", {**steps, "steps": fixed, "step": step}, words)
