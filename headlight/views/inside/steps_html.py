"""The steps of one attention block as a page of its own, which needs no server."""

from headlight.components.standalone import Words, standalone
from transformer.interpret.trace import Trace

_LOOK_FOR = (
    "Go from step to step with the arrow keys, and point at any cell: the sum behind it is written out with the "
    "numbers of the step before."
)


def steps_page(payload: dict, chosen: tuple[int, int, int, str], title: str, trace: Trace, checkpoint: str) -> str:
    """One HTML file of a block (see `steps_payload`), with a query, a key, a dimension, counted from 1, and a step."""
    words = Words(title, trace.source_text, trace.target_text, checkpoint, _LOOK_FOR)
    return standalone("attention_steps/steps", {**payload, "chosen": list(chosen), "turn": 0}, words)
