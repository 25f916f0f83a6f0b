"""Measures of what heads read in the run's sentence."""

import numpy as np

from headlight.app import results
from headlight.lessons.answer import Answer, Kind, Option, Run, Undecided, measure
from headlight.plots.text import one_head_name, quoted, short_weight

NEAR = 0.1  # between two weights: less does not decide which is read more
MOST_OPTIONS = 4


@measure
def most_read(run: Run, kind: str) -> Answer:
    """Ask which key the head that is shown first reads most, in the row whose choice is plainest.

    names: layer and head (from 1), row (from 1), word (what the row predicts), key (from 1) and read (what it reads).
    """
    trace = run.trace
    layer, head = results.default_head(run.request, kind)
    weights = trace.attention(kind)[layer, head]
    tokens = trace.decoder_input_tokens if kind == "decoder" else trace.source_tokens
    ordered = np.sort(weights, axis=1)
    row = int((ordered[:, -1] - ordered[:, -2]).argmax())
    ranked = np.argsort(-weights[row], kind="stable")
    if len(ranked) < 2 or weights[row][ranked[0]] - weights[row][ranked[1]] < NEAR:
        raise Undecided("No row of this head reads one word clearly more than all others here.")
    word = (trace.source_tokens if kind == "encoder" else trace.target_tokens)[row]
    listed = ranked[:MOST_OPTIONS]
    told = [f"Its weight is {short_weight(float(weights[row][key]))}." for key in listed]
    best = int(ranked[0])
    return Answer(
        Kind.ONE,
        f"For {quoted(word)} this head reads {quoted(tokens[best])} with {short_weight(float(weights[row][best]))}.",
        "The weights of this row: "
        + ", ".join(f"{quoted(tokens[key])} {short_weight(float(weights[row][key]))}" for key in listed)
        + ".",
        tuple(Option(str(int(key)), quoted(tokens[key]), told[at]) for at, key in enumerate(listed)),
        frozenset({str(best)}),
        names={
            "layer": str(layer + 1),
            "head": str(head + 1),
            "head_name": one_head_name(layer, head),
            "row": str(row + 1),
            "word": word,
            "key": str(best + 1),
            "read": tokens[best],
        },
    )
