"""Facts of the beam tree, and sentences on a beam search."""

from collections.abc import Callable, Sequence

import numpy as np

from headlight.app.facts import encode_array
from headlight.app.finding import Finding, Templates
from transformer.decoding.beam import Beam, Branch, Outcome, PathOutcome, SearchRecord
from transformer.decoding.sampling import Hypothesis

TEMPLATES = Templates.beside(__file__)


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
            "place": branch.position,
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
    """Return the gain of beam search over greedy decoding, or the fate of greedy's path, and what to try.

    `text` decodes ids.
    """
    best = record.ended[0]
    if best.ids == greedy.ids:
        return TEMPLATES("same"), TEMPLATES.text("try_longer")
    sums = {"beam": best.log_probability, "greedy": greedy.log_probability}
    written = TEMPLATES("written", text=text(list(greedy.ids)), **sums, digits=_digits(*sums.values()))
    if best.log_probability > greedy.log_probability:
        return TEMPLATES("gained").followed_by(written), TEMPLATES.text("try_both")
    fate = _describe_fate(record.outcome_of(greedy.ids), len(greedy.ids), beam)
    attempt = TEMPLATES.text("try_wider" if fate.name == "fell_out" else "try_alpha")
    return TEMPLATES("lost").followed_by(fate, written), attempt


def _digits(one: float, other: float) -> int:
    """Return the number of decimals that tells two numbers apart, from 2 to 7."""
    return next((digits for digits in range(2, 7) if f"{one:.{digits}f}" != f"{other:.{digits}f}"), 7)


def _describe_fate(fate: PathOutcome, length: int, beam: Beam) -> Finding:
    """Return the fate in the search of greedy's translation, which is no less probable."""
    if fate.outcome == Outcome.ENDED:
        return TEMPLATES("ended", rank=fate.position, alpha=beam.alpha)
    if fate.outcome == Outcome.FELL_OUT:
        return TEMPLATES("fell_out", step=fate.position, steps=length, size=beam.size)
    return TEMPLATES("unfinished", alpha=beam.alpha)
