"""Facts of the beam tree, and sentences on a beam search."""

from collections.abc import Callable, Sequence

import numpy as np

from headlight.app.facts import encode_array
from headlight.app.finding import Finding
from headlight.plots.numbers import format_distinct
from transformer.decoding.beam import Beam, Branch, Outcome, PathOutcome, SearchRecord
from transformer.decoding.sampling import Hypothesis


def branch_facts(
    branches: Sequence[Branch], reads: Sequence[Sequence[float]], name: Callable[[int], str]
) -> list[dict]:
    """Return the facts of the beam tree: see beam_tree/story.js.

    reads: for each branch the cross-attention weights of its last step over the source; `name` turns an id into the
    token's text.
    """
    return [
        {
            "ids": list(branch.ids),
            "token": name(branch.ids[-1]),
            "parent": branch.parent,
            "log_probability": branch.log_probability,
            "place": branch.place,
            "outcome": None if branch.outcome is None else str(branch.outcome),
            "rank": branch.rank,
            "score": branch.score,
            "reads": encode_array(np.asarray(row)),
        }
        for branch, row in zip(branches, reads, strict=True)
    ]


def describe_search(
    record: SearchRecord, greedy: Hypothesis, beam: Beam, text: Callable[[list[int]], str]
) -> tuple[Finding, str]:
    """Return what beam search gained over greedy decoding, or what became of greedy's path, and what to try.

    `text` decodes ids.
    """
    best = record.ended[0]
    if best.ids == greedy.ids:
        return Finding("Greedy decoding finds the same translation here."), "a longer sentence."
    searched, single = format_distinct(best.log_probability, greedy.log_probability)
    logs = f"log P: {searched} with the beam, {single} greedy."
    written = f"Greedy decoding writes: “{text(list(greedy.ids))}” {logs}"
    if best.log_probability > greedy.log_probability:
        headline = "Beam search finds a likelier translation than greedy decoding."
        return Finding(headline, written), "both, step by step: where do they part?"
    fate, attempt = _fate_words(record.outcome_of(greedy.ids), len(greedy.ids), beam)
    return Finding(
        "Greedy decoding finds a likelier translation, but not a better score.", f"{fate} {written}"
    ), attempt


def _fate_words(fate: PathOutcome, length: int, beam: Beam) -> tuple[str, str]:
    """Return what became of greedy's translation in the search, though it is no less probable, and what to try."""
    if fate.outcome == Outcome.ENDED:
        words = f"Greedy's translation ended with rank {fate.place} by score, with length penalty alpha {beam.alpha:g}."
        return words, "alpha 0."
    if fate.outcome == Outcome.FELL_OUT:
        return (
            f"Greedy's translation fell out of the beam at step {fate.place} of {length}, where the beam's {beam.size} "
            "best continuations were all likelier.",
            "a wider beam.",
        )
    return (
        f"Greedy's translation was still in the beam, unfinished, when the search stopped: with alpha {beam.alpha:g} "
        "it could no longer reach the best score.",
        "alpha 0.",
    )
