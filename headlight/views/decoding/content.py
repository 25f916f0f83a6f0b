"""Facts of the decoding player, its page of its own, and the step at which it opens."""

import numpy as np

from headlight.app.facts import encode_array, trace_facts
from headlight.app.finding import Templates
from headlight.components.standalone import Words, standalone
from headlight.plots.limits import fits_page
from transformer.interpret.trace import AttentionMap, Trace

TEMPLATES = Templates.beside(__file__)


def decoding_facts(
    trace: Trace, cross: AttentionMap, decoder: AttentionMap, forced: int = 0, unforced: str = ""
) -> dict:
    """Return the facts that the player shows of a trace: see decoding_player/story.js.

    cross and decoder are the maps of the chosen head or average: of a long text they are sent alone. `forced` is the
    number of first steps whose token the visitor chose, `unforced` the translation without that choice.
    """
    choice = {"forced": forced, "unforced": unforced}
    if fits_page(trace.cross.size + trace.decoder.size):
        return {**trace_facts(trace, {"cross": trace.cross, "decoder": trace.decoder}), **choice}
    shown = {"shown_cross": encode_array(cross.weights), "shown_decoder": encode_array(decoder.weights)}
    return {**trace_facts(trace), **choice, **shown, "head_counts": list(trace.cross.shape[:2])}


def decoding_page(shown: dict, step: int, checkpoint: str) -> str:
    """Return one HTML file of the player at a step counted from 1; `shown` has facts, layer and head."""
    source, target = (shown["facts"][f"{side}_text"] for side in ("source", "target"))
    words = Words(TEMPLATES.text("title"), source, target, checkpoint, TEMPLATES.text("look_for"))
    return standalone("decoding_player/player", {**shown, "step": step, "fixed": True}, words)


def hardest_step(trace: Trace) -> int:
    """Return the step of the highest entropy among those that were open to choice, counted from 0."""
    return trace.num_forced + int(np.argmax(trace.entropies[trace.num_forced :]))
